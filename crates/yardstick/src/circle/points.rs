//! Evaluation of columns of coefficients at points, compared with plain loops.

use backend_api::{
    Buffer, Queue as _,
    ops::circle::{CircleEvalAtPoint, CircleEvalAtPoints, CircleOps as _},
};
use core_types::{
    circle::{CirclePoint, double_x},
    field::{M31, QM31},
    params::{circle::CirclePointParams, deep::SampleAt},
};

use crate::{
    Contender, Goal, Line,
    host::{M31_BYTES, elements, places},
    line::RunSize,
};

/// Coefficients per second of stwo's vector backend on a machine with AVX-512 (0.81 ns each).
const GOAL_RATE: f64 = 1.0 / 0.81e-9;

/// Log of the coefficients that share the basis values of the plain loops.
const LOG_BLOCK: u32 = 8;

/// The work at one point of `2^log_size` coefficients.
pub(super) fn contest(log_size: u32) -> Line {
    let line = at_point(log_size, 1).called(&format!("circle.eval_at_point/{log_size}")).in_nanoseconds();
    let line = line.counting("coefficient", f64::from(1u32 << log_size)).peer(move || plain(log_size));
    line.portable().goal(Goal::Rate(GOAL_RATE), "avx-512")
}

fn point() -> CirclePoint<QM31> {
    let parameter = QM31::from_coordinates([3, 5, 7, 11].map(M31::from_u32));
    CirclePoint::from_parameter(parameter).expect("the parameter names a point")
}

pub(super) fn at_point(log_size: u32, columns: u32) -> Line {
    let count = (columns as usize) << log_size;
    let size = RunSize::streaming("element", count as f64, M31_BYTES * count as f64);
    Line::new(&format!("circle.eval_at_point/{columns}x2^{log_size}"), size, move |q| {
        let (coefficients, mut results) = (q.upload(&elements(count))?, q.zeros::<QM31>(columns as usize)?);
        let params = CirclePointParams { log_size, columns, point: point() };
        Ok(Box::new(move |q| {
            let (coefficients, results) = (coefficients.view(), results.view_mut());
            Ok(q.circle_eval_at_point(CircleEvalAtPoint { params: &params, coefficients, results })?)
        }))
    })
}

/// The same at two points, which are on the device.
pub(super) fn at_points(log_size: u32, columns: u32) -> Line {
    let count = (columns as usize) << log_size;
    let size = RunSize::streaming("element and point", 2.0 * count as f64, M31_BYTES * count as f64);
    Line::new(&format!("circle.eval_at_points/{columns}x2^{log_size}"), size, move |q| {
        let (coefficients, mut sampled) = (q.upload(&elements(count))?, q.zeros::<QM31>(2 * columns as usize)?);
        let (point, other) = (point(), point().double());
        let points = q.upload(&[point.x, point.y, other.x, other.y])?;
        let samples: Vec<_> = (0..2 * columns).map(|i| SampleAt { column: i / 2, point: i % 2 }).collect();
        let columns = places(log_size, columns);
        Ok(Box::new(move |q| {
            let (columns, samples, coefficients) = (&columns[..], &samples[..], coefficients.view());
            let (points, sampled) = (points.view(), sampled.view_mut());
            Ok(q.circle_eval_at_points(CircleEvalAtPoints { columns, samples, coefficients, points, sampled })?)
        }))
    })
}

fn plain(log_size: u32) -> Contender {
    let coefficients = elements(1 << log_size);
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
            let params = CirclePointParams { log_size, columns: 1, point: point() };
            let (coefficients, mut results) = (elements(1 << log_size), [QM31::ZERO]);
            let op = CircleEvalAtPoint { params: &params, coefficients: &coefficients[..], results: &mut results[..] };
            q.circle_eval_at_point(op).unwrap();
            assert_eq!(plain_evaluation(&coefficients), results[0], "2^{log_size}");
        }
    }
}
