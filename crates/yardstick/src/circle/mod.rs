//! Speed lines of the `circle` op set.
//!
//! The unit of transforms is an element-layer: transforming a column of `2^n` elements is `n 2^n`
//! of them.

mod extend;
mod inverse;
mod points;
mod twiddles;

use std::num::NonZeroUsize;

use backend_api::ops::circle::{CircleEvaluate, CircleInterpolate, CircleOps, CircleTwiddles};
use core_types::{
    field::{M31, Twiddle},
    params::circle::{CircleFftParams, CircleTwiddleParams},
};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};

use crate::{Contender, Contest, Goal, Show};

/// Element-layers per second of stwo's vector backend.
///
/// It takes 0.13 ns for each on a machine with AVX-512.
const GOAL_RATE: f64 = 1.0 / 0.13e-9;

/// Log sizes of the columns.
const LOG_SIZES: [u32; 4] = [16, 20, 22, 24];

/// Every contest of the op set, by name; each is built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let mut all: Vec<(String, Box<dyn FnOnce() -> Contest>)> = Vec::new();
    for direction in [Direction::Interpolate, Direction::Evaluate] {
        for log_size in LOG_SIZES {
            let id = format!("circle.{}/{log_size}", direction.name());
            all.push((id.clone(), Box::new(move || transform(id, direction, log_size))));
        }
    }
    let id = "circle.portable/20".to_owned();
    all.push((id.clone(), Box::new(move || portable(id, 20))));
    for log_size in [20, 24] {
        let id = format!("circle.eval_at_point/{log_size}");
        all.push((id.clone(), Box::new(move || points::contest(id, log_size))));
        let id = format!("circle.twiddles/{log_size}");
        all.push((id.clone(), Box::new(move || twiddles::contest(id, log_size))));
    }
    let mut add = |id: &str, contest: fn(String) -> Contest| {
        let id = id.to_owned();
        all.push((id.clone(), Box::new(move || contest(id))));
    };
    add("circle.extend_plan/100x2^16", extend::plan);
    add("circle.extend_blocks/100x2^16", extend::blocks);
    add("circle.batch_inverse_m31/20", |id| inverse::of_m31(id, 20));
    add("circle.batch_inverse_qm31/20", |id| inverse::of_qm31(id, 20));
    all
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Interpolate,
    Evaluate,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Interpolate => "interpolate",
            Self::Evaluate => "evaluate",
        }
    }
}

fn transform(id: String, direction: Direction, log_size: u32) -> Contest {
    Contest {
        id,
        unit: "element-layer",
        work: f64::from(log_size) * f64::from(1u32 << log_size),
        show: Show::Nanoseconds,
        contenders: vec![
            ours("trefoil", SimdLevel::Avx512, direction, log_size),
            autovectorised(direction, log_size),
            ours("trefoil, portable path", SimdLevel::Portable, direction, log_size),
        ],
        goals: vec![(Goal::Rate(GOAL_RATE), "avx-512")],
    }
}

fn portable(id: String, log_size: u32) -> Contest {
    Contest {
        id,
        unit: "element-layer",
        work: f64::from(log_size) * f64::from(1u32 << log_size),
        show: Show::Nanoseconds,
        contenders: vec![
            ours("trefoil, portable path", SimdLevel::Portable, Direction::Interpolate, log_size),
            autovectorised(Direction::Interpolate, log_size),
        ],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.5 }, "")],
    }
}

/// Our transform on one thread, in place on one column.
fn ours(name: &str, simd: SimdLevel, direction: Direction, log_size: u32) -> Contender {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
    let q = CpuQueue::open(config).expect("one thread needs no pool");
    let params = CircleFftParams { log_size, columns: 1 };
    let mut column = input(log_size);
    let twiddles = factors(&q, direction, log_size);
    Contender::new(name, move || {
        match direction {
            Direction::Interpolate => q.circle_interpolate(CircleInterpolate {
                params: &params,
                inverse_twiddles: &twiddles,
                columns: &mut column,
            }),
            Direction::Evaluate => {
                q.circle_evaluate(CircleEvaluate { params: &params, twiddles: &twiddles, columns: &mut column })
            }
        }
        .expect("lengths match");
    })
}

/// The same layers as plain loops over the column, vectorised by the compiler.
///
/// One layer runs after the other.
fn autovectorised(direction: Direction, log_size: u32) -> Contender {
    let q = runtime::cpu().expect("threads start");
    let mut column = input(log_size);
    let twiddles = factors(&q, direction, log_size);
    Contender::new("plain loops, autovectorised", move || match direction {
        Direction::Interpolate => plain_interpolate(&mut column, &twiddles, log_size),
        Direction::Evaluate => plain_evaluate(&mut column, &twiddles, log_size),
    })
}

fn input(log_size: u32) -> Vec<M31> {
    (0..1u32 << log_size).map(|i| M31::from_u32(i.wrapping_mul(0x9e37_79b9))).collect()
}

fn factors(q: &CpuQueue, direction: Direction, log_size: u32) -> Vec<Twiddle> {
    let mut forward = vec![Twiddle::default(); 1 << (log_size - 1)];
    let mut inverse = forward.clone();
    q.circle_twiddles(CircleTwiddles {
        params: &CircleTwiddleParams { log_size },
        twiddles: &mut forward,
        inverse_twiddles: &mut inverse,
    })
    .expect("lengths match");
    match direction {
        Direction::Interpolate => inverse,
        Direction::Evaluate => forward,
    }
}

/// Factors of layer 0 for the eight positions that two factors of layer 1 serve.
fn circle_factors(pair: &[Twiddle]) -> [Twiddle; 4] {
    [pair[1], pair[1].negated(), pair[0].negated(), pair[0]]
}

fn plain_interpolate(column: &mut [M31], twiddles: &[Twiddle], log_size: u32) {
    for (eight, pair) in column.chunks_exact_mut(8).zip(twiddles.chunks_exact(2)) {
        for (two, t) in eight.chunks_exact_mut(2).zip(circle_factors(pair)) {
            (two[0], two[1]) = (two[0] + two[1], (two[0] - two[1]).times_twiddle(t));
        }
    }
    let mut layer_twiddles = twiddles;
    for layer in 1..log_size {
        for (block, &t) in column.chunks_exact_mut(2 << layer).zip(layer_twiddles) {
            let (low, high) = block.split_at_mut(1 << layer);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, (*a - *b).times_twiddle(t));
            }
        }
        layer_twiddles = &layer_twiddles[1 << (log_size - 1 - layer)..];
    }
    for x in column {
        *x = x.div_power_of_two(log_size);
    }
}

fn plain_evaluate(column: &mut [M31], twiddles: &[Twiddle], log_size: u32) {
    for layer in (1..log_size).rev() {
        let layer_twiddles = &twiddles[(1 << (log_size - 1)) - (1 << (log_size - layer))..];
        for (block, &t) in column.chunks_exact_mut(2 << layer).zip(layer_twiddles) {
            let (low, high) = block.split_at_mut(1 << layer);
            for (a, b) in low.iter_mut().zip(high) {
                let product = b.times_twiddle(t);
                (*a, *b) = (*a + product, *a - product);
            }
        }
    }
    for (eight, pair) in column.chunks_exact_mut(8).zip(twiddles.chunks_exact(2)) {
        for (two, t) in eight.chunks_exact_mut(2).zip(circle_factors(pair)) {
            let product = two[1].times_twiddle(t);
            (two[0], two[1]) = (two[0] + product, two[0] - product);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_loops_compute_what_we_compute() {
        let q = runtime::cpu().unwrap();
        for log_size in [3, 4, 9, 13] {
            let params = CircleFftParams { log_size, columns: 1 };
            let (mut plain, mut ours) = (input(log_size), input(log_size));
            let inverse = factors(&q, Direction::Interpolate, log_size);
            plain_interpolate(&mut plain, &inverse, log_size);
            q.circle_interpolate(CircleInterpolate { params: &params, inverse_twiddles: &inverse, columns: &mut ours })
                .unwrap();
            assert_eq!(plain, ours);
            let forward = factors(&q, Direction::Evaluate, log_size);
            plain_evaluate(&mut plain, &forward, log_size);
            q.circle_evaluate(CircleEvaluate { params: &params, twiddles: &forward, columns: &mut ours }).unwrap();
            assert_eq!(plain, ours);
            assert_eq!(plain, input(log_size));
        }
    }
}
