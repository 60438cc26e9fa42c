//! Ops of proofs.

use backend_api::ops::circle::{CircleOps, CircleTwiddles};
use core_types::{
    field::{M31, QM31, Twiddle},
    params::circle::CircleTwiddleParams,
};
use cpu_backend::CpuQueue;

mod air;
mod circle;
mod deep;
mod fri;
mod grind;
mod merkle;
mod refused;
mod scratch;

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

/// The twiddles of a domain and their inverses.
fn tree(q: &CpuQueue, log_size: u32) -> (Vec<Twiddle>, Vec<Twiddle>) {
    let mut pair = (vec![Twiddle::default(); 1 << (log_size - 1)], vec![Twiddle::default(); 1 << (log_size - 1)]);
    q.circle_twiddles(CircleTwiddles {
        params: &CircleTwiddleParams { log_size },
        twiddles: &mut pair.0,
        inverse_twiddles: &mut pair.1,
    })
    .expect("a valid size");
    pair
}
