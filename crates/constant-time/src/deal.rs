//! The dealer, whose whole random stream is secret but for the nonces.

use anyhow::Result;
use cpu_backend::CpuQueue;
use pfss::{Dealer, Gate, KeyBundle};

use crate::{COUNT, Check, gates, memcheck};

pub(crate) fn checks() -> Result<Vec<Check>> {
    let check = |gate: Gate| {
        Check::clean(format!("deal and serialise {}", describe(&gate)), move |q| {
            for bundle in dealer().deal(q, &gate, COUNT)? {
                core::hint::black_box(bundle.to_bytes());
            }
            Ok(())
        })
    };
    Ok(gates::all()?.into_iter().map(check).collect())
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
