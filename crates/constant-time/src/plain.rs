//! The inputs in the clear shared by every check, and the comparison of results with them.

use anyhow::{Result, ensure};
use pfss::Ring;

use crate::memcheck;

/// Elements of every batch: one more than a word of bits.
pub(crate) const COUNT: usize = 33;

/// The ring of most gates.
pub(crate) const RING: Ring = match Ring::new(64) {
    Some(ring) => ring,
    None => unreachable!(),
};

/// Inputs of both signs.
pub(crate) fn plaintexts() -> [i64; COUNT] {
    core::array::from_fn(|e| e as i64 * 7919 - 100_000)
}

/// Opens shares and compares, so that what was checked is what computes.
pub(crate) fn expect(ring: Ring, [a, b]: &[Vec<u64>; 2], expected: &[u64]) -> Result<()> {
    memcheck::publish(a);
    memcheck::publish(b);
    let got: Vec<u64> = a.iter().zip(b).map(|(&a, &b)| ring.add(a, b)).collect();
    let expected: Vec<u64> = expected.iter().map(|&word| ring.reduce(word)).collect();
    ensure!(got == expected, "expected {expected:?}, got {got:?}");
    Ok(())
}
