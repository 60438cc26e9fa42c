//! Twiddles of a domain, compared with plain loops.

use backend_api::{
    Buffer, Queue as _,
    ops::circle::{CircleOps as _, CircleTwiddles},
};
use core_types::{
    circle::{CirclePoint, CirclePointIndex, double_x},
    field::{M31, Twiddle},
    params::circle::CircleTwiddleParams,
};
use runtime::{AnyBuf, AnyQueue};

use crate::{Contender, Goal, Line, LineError, line::RunSize};

/// Factors with their inverses per second of stwo's vector backend.
///
/// It takes 7.4 ns for each on a machine with AVX-512.
const GOAL_RATE: f64 = 1.0 / 7.4e-9;

/// The factors of `2^log_size` points, and their inverses.
pub(super) fn contest(log_size: u32) -> Line {
    let size = RunSize::computing("factor with its inverse", f64::from(1u32 << (log_size - 1)), 0.0);
    let line = Line::new(&format!("circle.twiddles/{log_size}"), size, move |q| {
        let mut written = twiddles(q, log_size)?;
        Ok(Box::new(move |q| write(q, log_size, &mut written)))
    });
    line.in_nanoseconds().peer(move || plain(log_size)).portable().goal(Goal::Rate(GOAL_RATE), "avx-512")
}

/// Twiddles of a domain, and their inverses.
pub(super) fn twiddles(q: &AnyQueue, log_size: u32) -> Result<[AnyBuf<Twiddle>; 2], LineError> {
    let mut both = [q.zeros::<Twiddle>(1 << (log_size - 1))?, q.zeros::<Twiddle>(1 << (log_size - 1))?];
    write(q, log_size, &mut both)?;
    Ok(both)
}

fn write(q: &AnyQueue, log_size: u32, [forward, inverse]: &mut [AnyBuf<Twiddle>; 2]) -> Result<(), LineError> {
    let (twiddles, inverse_twiddles) = (forward.view_mut(), inverse.view_mut());
    Ok(q.circle_twiddles(CircleTwiddles { params: &CircleTwiddleParams { log_size }, twiddles, inverse_twiddles })?)
}

fn plain(log_size: u32) -> Contender {
    let mut written = [0, 1].map(|_| vec![Twiddle::default(); 1 << (log_size - 1)]);
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
        let q = AnyQueue::Cpu(runtime::cpu().unwrap());
        for log_size in [2, 3, 4, 9, 13, 16] {
            let ours = twiddles(&q, log_size).unwrap();
            let mut plain = ours.each_ref().map(|ours| vec![Twiddle::default(); ours.len()]);
            plain_twiddles(log_size, &mut plain);
            assert!(
                plain.iter().zip(&ours).all(|(plain, ours)| *plain == q.download(ours).unwrap()),
                "2^{log_size} points"
            );
        }
    }
}
