//! Specifications of the `tensor` op set.

mod cast;
mod copy;
mod index;
mod map;
mod reduce;

use crate::{
    OpSpec,
    linalg::model::{InputSource, bits, narrow, wide},
    list::ListIterator as _,
    spec::typed,
};

/// Lengths around vectors, warps, blocks and the parallel grain.
const LENGTHS: [usize; 14] = [0, 1, 7, 8, 31, 32, 33, 255, 256, 257, 511, 512, 513, 70_001];

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    let mut all = map::specs();
    all.extend(copy::specs());
    all.extend(cast::specs());
    all.extend(reduce::specs());
    all.extend(index::specs());
    all
}

/// Random words of 64 bits.
fn long_words(source: &mut InputSource, count: usize) -> Vec<u64> {
    // Three words of 31 bits.
    let mut word = || u64::from(source.word());
    (0..count).map(|_| word() << 62 ^ word() << 31 ^ word()).list()
}
