//! Results of attention with NaN, infinity, and scores far apart.

use backend_api::Real;
use core_types::params::attention::AttentionParams;

use super::{
    hold_forward,
    model::{Problem, packed},
    rounding, run_forward,
};
use crate::{Case, Conditioned, Failure, spec::typed};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(typed!("NaN and infinity in keys that no query reads", unread()));
    cases.extend(typed!("NaN and infinity in keys that other queries read", read_by_others()));
    cases.extend(typed!("NaN in a query", bad_query()));
    cases.push(Case::new("addends of NaN and +inf", bad_addends));
    cases.push(Case::new("scores far apart, and far from 0", |q| far(q, &[1e4, 10_001.0, 9998.0, 1e4, 9000.0])));
    cases.push(Case::new("scores near the greatest number", |q| far(q, &[-1e38, 1e38, 0.0, -80.0])));
    cases.push(Case::new("scores that rise", |q| slope(q, 0.25)));
    cases.push(Case::new("scores that fall", |q| slope(q, -0.25)));
    cases
}

/// Compares results alone: NaN among scores has no defined logarithm of the sum.
fn hold_results<T: Real>(q: &Conditioned, problem: &Problem) -> Result<(), Failure> {
    let (y, _) = run_forward::<T>(q, problem)?;
    Failure::unless_close(&problem.forward().0, &y, rounding::<T>(), 1e-5 + 1.5 * rounding::<T>())
}

/// A problem whose keys and values past the length of their batch are `bad`.
pub(super) fn spoilt_past_lengths(keys: usize, bad: f32) -> Problem {
    const DIM: usize = 8;
    let mut problem = Problem::new(packed([2, 2, 1, 5, keys as u64, DIM as u64]), 21);
    problem.key_lens = Some(vec![keys as u32 - 4, 3]);
    for rows in [&mut problem.k, &mut problem.v] {
        rows[(keys - 4) * DIM..keys * DIM].fill(bad);
        rows[(keys + 3) * DIM..].fill(bad);
    }
    problem
}

fn unread<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    for bad in [f32::NAN, f32::INFINITY] {
        hold_forward::<T>(q, &spoilt_past_lengths(9, bad))?;
        hold_forward::<T>(q, &spoilt_past_lengths(70, bad))?;
    }
    Ok(())
}

/// Rows, elements of a row, and the row that is spoilt: few rows, many, and long ones.
pub(super) const SPOILT: [([u64; 2], usize); 3] = [([9, 4], 4), ([70, 4], 66), ([20, 72], 17)];

/// A causal problem with one row of `bad` in the operand of this name.
pub(super) fn spoilt_row(([rows, dim], row): ([u64; 2], usize), operand: &str, bad: f32) -> Problem {
    let mut problem = Problem::new(AttentionParams { causal: 1, ..packed([1, 1, 1, rows, rows, dim]) }, 22);
    let dim = dim as usize;
    problem.operand(operand)[row * dim..(row + 1) * dim].fill(bad);
    problem
}

fn read_by_others<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    for place in SPOILT {
        hold_results::<T>(q, &spoilt_row(place, "k", f32::NAN))?;
        hold_results::<T>(q, &spoilt_row(place, "v", f32::NAN))?;
        hold_results::<T>(q, &spoilt_row(place, "v", f32::INFINITY))?;
    }
    Ok(())
}

/// Compares results and logarithms of sums, which are NaN for one query in five.
fn bad_query<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    [[5, 8], [66, 8], [5, 72], [66, 72]].iter().try_for_each(|&[queries, dim]| {
        let mut problem = Problem::new(packed([1, 1, 1, queries, 9, dim]), 23);
        problem.q.chunks_mut(dim as usize).skip(2).step_by(5).for_each(|query| query[1] = f32::NAN);
        hold_forward::<T>(q, &problem)
    })
}

fn bad_addends(q: &Conditioned) -> Result<(), Failure> {
    const KEYS: usize = 70;
    let mut problem = Problem::new(packed([1, 1, 1, 4, KEYS as u64, 8]), 24);
    let mut addend = vec![0.0; 4 * KEYS];
    (addend[1], addend[KEYS + 66]) = (f32::NAN, f32::INFINITY);
    (addend[2 * KEYS], addend[2 * KEYS + 65]) = (f32::INFINITY, f32::NEG_INFINITY);
    problem.addend = Some(addend);
    hold_results::<f32>(q, &problem)
}

/// Compares for one query of 1, with scores that f32 computes exactly.
fn far(q: &Conditioned, scores: &[f32]) -> Result<(), Failure> {
    let mut problem = Problem::new(AttentionParams { scale: 1.0, ..packed([1, 1, 1, 1, scores.len() as u64, 1]) }, 25);
    (problem.q, problem.k) = (vec![1.0], scores.to_vec());
    hold_forward::<f32>(q, &problem)
}

/// Compares with scores that change by `step` from one key to the next, through many tiles.
fn slope(q: &Conditioned, step: f32) -> Result<(), Failure> {
    let scores: Vec<f32> = (0..600u16).map(|key| step * f32::from(key)).collect();
    far(q, &scores)
}
