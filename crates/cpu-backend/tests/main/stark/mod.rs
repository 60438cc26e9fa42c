//! Ops of proofs.

use core_types::field::{M31, QM31};

mod air;
mod circle;
mod deep;
mod fri;
mod grind;
mod merkle;
mod refused;

/// Random elements with many zeros and minus ones among them.
fn elements(len: usize, seed: u64) -> Vec<M31> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let element = || match rng.u8(..8) {
        0 => M31::ZERO,
        1 => -M31::ONE,
        _ => M31::from_u32(rng.u32(..)),
    };
    core::iter::repeat_with(element).take(len).collect()
}

fn secure(len: usize, seed: u64) -> Vec<QM31> {
    elements(4 * len, seed).as_chunks().0.iter().map(|&words| QM31::from_coordinates(words)).collect()
}
