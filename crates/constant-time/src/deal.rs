//! The dealer, whose whole random stream is secret except for the nonces.

use anyhow::{Context, Result};
use cpu_backend::CpuQueue;
use pfss::{Dealer, Gate, KeyBundle, MatrixShape, Ring};

use crate::{Check, gates, memcheck, plain::COUNT};

/// The products of secret matrices.
pub(crate) const MATRICES: MatrixShape = MatrixShape { batch: 2, rows: 3, inner: 4, cols: 5 };

pub(crate) fn checks() -> Result<Vec<Check>> {
    let check = |gate: Gate| {
        Check::clean(format!("deal and serialise {}", describe(&gate)), move |q| {
            for bundle in dealer().deal(q, &gate, COUNT)? {
                core::hint::black_box(bundle.to_bytes());
            }
            Ok(())
        })
    };
    let mut checks: Vec<Check> = gates::all()?.into_iter().map(check).collect();
    checks.push(Check::clean("deal and serialise for given masks", for_given_masks));
    checks.push(Check::clean("deal and serialise matrices", matrices));
    Ok(checks)
}

fn for_given_masks(q: &CpuQueue) -> Result<()> {
    let mut masks: Vec<u64> = (0..COUNT as u64).map(|e| e.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    memcheck::hide(&mut masks);
    for gate in [Gate::relu(64)?, Gate::interval_powers(64, 2)?] {
        dealer().insecure_deal_for_masks(q, &gate, &masks)?;
    }
    Ok(())
}

fn matrices(q: &CpuQueue) -> Result<()> {
    let ring = Ring::new(64).context("a ring of 64 bits")?;
    for triple in dealer().deal_matrix(q, ring, MATRICES)? {
        core::hint::black_box(triple.to_bytes());
    }
    Ok(())
}

/// A dealer all of whose masks, seeds, bits and shares are secret.
pub(crate) fn dealer() -> Dealer {
    let mut seed = [11u64];
    memcheck::hide(&mut seed);
    Dealer::insecure_from_seeds(seed[0], 12)
}

/// Keys of [`dealer`] for a batch.
pub(crate) fn bundles(q: &CpuQueue, gate: &Gate) -> Result<[KeyBundle; 2]> {
    Ok(dealer().deal(q, gate, COUNT)?)
}

/// Names a gate in the report.
pub(crate) fn describe(gate: &Gate) -> String {
    match gate.program() {
        Some(program) => {
            let modes = program.modes();
            format!("{} {:?} {:?} {:?}", gate.kind(), modes.preds, modes.coeffs, modes.bools)
        }
        None => format!("{} n={} f={}", gate.kind(), gate.n(), gate.f()),
    }
}
