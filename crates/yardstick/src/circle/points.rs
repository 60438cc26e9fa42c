//! Evaluation of a column of coefficients at a point, compared with plain loops.

use std::num::NonZeroUsize;

use backend_api::ops::circle::{CircleEvalAtPoint, CircleOps};
use core_types::{
    circle::{CirclePoint, double_x},
    field::{M31, QM31},
    params::circle::CirclePointParams,
};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};

use super::input;
use crate::{Contender, Contest, Goal, Show};

/// Coefficients per second of stwo's vector backend on a machine with AVX-512 (0.81 ns each).
const GOAL_RATE: f64 = 1.0 / 0.81e-9;

/// Log of the coefficients that share the basis values of the plain loops.
const LOG_BLOCK: u32 = 8;

/// The work at one point of `2^log_size` coefficients.
pub(super) fn contest(id: String, log_size: u32) -> Contest {
    Contest {
        id,
        unit: "coefficient",
        work: f64::from(1u32 << log_size),
        show: Show::Nanoseconds,
        contenders: vec![
            ours("trefoil", SimdLevel::Avx512, log_size),
            plain(log_size),
            ours("trefoil, portable path", SimdLevel::Portable, log_size),
        ],
        goals: vec![(Goal::Rate(GOAL_RATE), "avx-512")],
    }
}

fn point() -> CirclePoint<QM31> {
    let parameter = QM31::from_coordinates([3, 5, 7, 11].map(M31::from_u32));
    CirclePoint::from_parameter(parameter).expect("the parameter names a point")
}

fn evaluated(q: &CpuQueue, coefficients: &[M31]) -> QM31 {
    let params = CirclePointParams { log_size: coefficients.len().ilog2(), columns: 1, point: point() };
    let mut results = [QM31::ZERO];
    q.circle_eval_at_point(CircleEvalAtPoint { params: &params, coefficients, results: &mut results })
        .expect("lengths match");
    results[0]
}

fn ours(name: &str, simd: SimdLevel, log_size: u32) -> Contender {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
    let q = CpuQueue::open(config).expect("one thread needs no pool");
    let coefficients = input(log_size);
    Contender::new(name, move || {
        core::hint::black_box(evaluated(&q, &coefficients));
    })
}

fn plain(log_size: u32) -> Contender {
    let coefficients = input(log_size);
    Contender::new("plain loops, autovectorised", move || {
        core::hint::black_box(plain_evaluation(&coefficients));
    })
}

/// Sums of products with the basis values of blocks, folded by the other bits of the index.
fn plain_evaluation(coefficients: &[M31]) -> QM31 {
    let point = point();
    let factors = [point.y].into_iter().chain(core::iter::successors(Some(point.x), |&x| Some(double_x(x))));
    let factors: Vec<QM31> = factors.take(coefficients.len().ilog2() as usize).collect();
    let (low, high) = factors.split_at(factors.len().min(LOG_BLOCK as usize));
    let mut basis = vec![QM31::ONE];
    for &factor in low {
        basis.extend_from_within(..);
        let half = basis.len() / 2;
        basis[half..].iter_mut().for_each(|value| *value *= factor);
    }
    let planes = [0, 1, 2, 3].map(|k| basis.iter().map(|value| value.coordinates()[k]).collect::<Vec<M31>>());
    let mut sums: Vec<QM31> = coefficients
        .chunks(basis.len())
        .map(|block| QM31::from_coordinates(planes.each_ref().map(|plane| plain_sum(block, plane))))
        .collect();
    for &factor in high {
        sums = sums.chunks_exact(2).map(|pair| pair[0] + pair[1] * factor).collect();
    }
    sums[0]
}

/// High and low words of the products are summed apart: 2^8 of them stay below 2^40.
fn plain_sum(words: &[M31], plane: &[M31]) -> M31 {
    let (mut low, mut high) = (0, 0);
    for (word, value) in words.iter().zip(plane) {
        let product = u64::from(word.word()) * u64::from(value.word());
        low += product & 0xffff_ffff;
        high += product >> 32;
    }
    M31::from_u64(low + 2 * high) // 2^32 = 2 modulo 2^31 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_loops_compute_what_we_compute() {
        let q = runtime::cpu().unwrap();
        for log_size in [0, 1, 5, 8, 9, 13, 17] {
            assert_eq!(plain_evaluation(&input(log_size)), evaluated(&q, &input(log_size)), "2^{log_size}");
        }
    }
}
