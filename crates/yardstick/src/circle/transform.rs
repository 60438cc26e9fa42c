//! Transforms of columns in place, compared with plain loops.

use backend_api::{
    Buffer, Queue as _,
    ops::circle::{CircleEvaluate, CircleInterpolate, CircleOps as _},
};
use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleFftParams,
};
use runtime::AnyQueue;

use super::twiddles::twiddles;
use crate::{
    Contender, Line,
    host::{M31_BYTES, elements},
    line::RunSize,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Interpolate,
    Evaluate,
}

impl Direction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Interpolate => "interpolate",
            Self::Evaluate => "evaluate",
        }
    }
}

pub(super) fn transform(direction: Direction, log_size: u32, columns: u32) -> Line {
    let count = (columns as usize) << log_size;
    let bytes = M31_BYTES * count as f64;
    let work = count as f64 * f64::from(log_size);
    let size = RunSize { resident: bytes, ..RunSize::streaming("element-layer", work, 2.0 * bytes) };
    Line::new(&format!("circle.{}/{columns}x2^{log_size}", direction.name()), size, move |q| {
        let [forward, inverse] = twiddles(q, log_size)?;
        let mut values = q.upload(&elements(count))?;
        let params = CircleFftParams { log_size, columns };
        Ok(Box::new(move |q| {
            let (params, columns) = (&params, values.view_mut());
            Ok(match direction {
                Direction::Interpolate => {
                    q.circle_interpolate(CircleInterpolate { params, inverse_twiddles: inverse.view(), columns })
                }
                Direction::Evaluate => q.circle_evaluate(CircleEvaluate { params, twiddles: forward.view(), columns }),
            }?)
        }))
    })
}

/// The same layers as plain loops over one column, vectorised by the compiler.
///
/// One layer runs after the other.
pub(super) fn autovectorised(direction: Direction, log_size: u32) -> Contender {
    let mut column = elements(1 << log_size);
    let twiddles = factors(direction, log_size);
    Contender::new("plain loops, autovectorised", move || match direction {
        Direction::Interpolate => plain_interpolate(&mut column, &twiddles, log_size),
        Direction::Evaluate => plain_evaluate(&mut column, &twiddles, log_size),
    })
}

fn factors(direction: Direction, log_size: u32) -> Vec<Twiddle> {
    let q = AnyQueue::Cpu(runtime::cpu().expect("threads start"));
    let [forward, inverse] = twiddles(&q, log_size).expect("memory for the twiddles");
    let read = match direction {
        Direction::Interpolate => inverse,
        Direction::Evaluate => forward,
    };
    q.download(&read).expect("memory of the host")
}

/// Twiddles of layer 0 for eight positions, from the two twiddles of layer 1 for them.
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
            let (mut plain, mut ours) = (elements(1 << log_size), elements(1 << log_size));
            let inverse = factors(Direction::Interpolate, log_size);
            plain_interpolate(&mut plain, &inverse, log_size);
            q.circle_interpolate(CircleInterpolate { params: &params, inverse_twiddles: &inverse, columns: &mut ours })
                .unwrap();
            assert_eq!(plain, ours);
            let forward = factors(Direction::Evaluate, log_size);
            plain_evaluate(&mut plain, &forward, log_size);
            q.circle_evaluate(CircleEvaluate { params: &params, twiddles: &forward, columns: &mut ours }).unwrap();
            assert_eq!(plain, ours);
            assert_eq!(plain, elements(1 << log_size));
        }
    }
}
