//! Twiddles of a domain, compared with plain loops.

use std::num::NonZeroUsize;

use backend_api::ops::circle::{CircleOps, CircleTwiddles};
use core_types::{
    circle::{CirclePoint, CirclePointIndex, double_x},
    field::{M31, Twiddle},
    params::circle::CircleTwiddleParams,
};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};

use crate::{Contender, Contest, Goal, Show};

/// Factors with their inverses per second of stwo's vector backend.
///
/// It takes 7.4 ns for each on a machine with AVX-512.
const GOAL_RATE: f64 = 1.0 / 7.4e-9;

/// The factors of `2^log_size` points, and their inverses.
pub(super) fn contest(id: String, log_size: u32) -> Contest {
    Contest {
        id,
        unit: "factor with its inverse",
        work: f64::from(1u32 << (log_size - 1)),
        show: Show::Nanoseconds,
        contenders: vec![
            ours("trefoil", SimdLevel::Avx512, log_size),
            plain(log_size),
            ours("trefoil, portable path", SimdLevel::Portable, log_size),
        ],
        goals: vec![(Goal::Rate(GOAL_RATE), "avx-512")],
    }
}

fn write(q: &CpuQueue, log_size: u32, [twiddles, inverse_twiddles]: &mut [Vec<Twiddle>; 2]) {
    let params = CircleTwiddleParams { log_size };
    q.circle_twiddles(CircleTwiddles { params: &params, twiddles, inverse_twiddles }).expect("lengths match");
}

fn both(log_size: u32) -> [Vec<Twiddle>; 2] {
    [0, 1].map(|_| vec![Twiddle::default(); 1 << (log_size - 1)])
}

fn ours(name: &str, simd: SimdLevel, log_size: u32) -> Contender {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
    let q = CpuQueue::open(config).expect("one thread needs no pool");
    let mut written = both(log_size);
    Contender::new(name, move || write(&q, log_size, &mut written))
}

fn plain(log_size: u32) -> Contender {
    let mut written = both(log_size);
    Contender::new("plain loops", move || plain_twiddles(log_size, &mut written))
}

/// Points by their steps, layers by doubling x, inverses by running products over all.
fn plain_twiddles(log_size: u32, [twiddles, inverse_twiddles]: &mut [Vec<Twiddle>; 2]) {
    let log_len = log_size - 2;
    let unit = CirclePointIndex::subgroup_generator(log_size + 1);
    let mut points: Vec<CirclePoint<M31>> = vec![unit.to_point()];
    for bit in 0..log_len {
        let step = (unit * (4 << (log_len - 1 - bit))).to_point();
        points.extend_from_within(..);
        let half = points.len() / 2;
        points[half..].iter_mut().for_each(|point| *point = *point + step);
    }
    let mut xs: Vec<M31> = points.into_iter().map(|point| point.x).collect();
    let mut first = 0;
    while xs.len() - first > 1 {
        let end = xs.len();
        xs.extend((first..end).step_by(2).map(|h| double_x(xs[h])).collect::<Vec<M31>>());
        first = end;
    }
    xs.push(M31::ONE);
    let mut product = M31::ONE;
    for ((twiddle, prefix), &x) in twiddles.iter_mut().zip(&mut *inverse_twiddles).zip(&xs) {
        (*twiddle, *prefix) = (Twiddle::new(x), Twiddle::new(product));
        product *= x;
    }
    let mut inverse = product.inverse().expect("no x is zero");
    for (prefix, &x) in inverse_twiddles.iter_mut().zip(&xs).rev() {
        *prefix = Twiddle::new(inverse.times_twiddle(*prefix));
        inverse *= x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_loops_compute_what_we_compute() {
        let q = runtime::cpu().unwrap();
        for log_size in [2, 3, 4, 9, 13, 16] {
            let (mut plain, mut ours) = (both(log_size), both(log_size));
            plain_twiddles(log_size, &mut plain);
            write(&q, log_size, &mut ours);
            assert!(plain == ours, "2^{log_size} points");
        }
    }
}
