//! Results of attention with NaN, infinity, and scores far apart.

use backend_api::Real;
use core_types::params::attention::AttentionParams;

use super::{
    AttentionPass, hold_forward,
    masks::spoilt_by_mask,
    model::{AttentionSizes, Problem, packed, start},
    rounding, run_forward,
};
use crate::{Case, Conditioned, Failure, spec::typed};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(typed!("NaN and infinity in keys that no query reads", unread(AttentionPass::Forward)));
    cases.extend(typed!("NaN and infinity in keys that other queries read", read_by_others()));
    cases.extend(typed!("NaN in a query", bad_query()));
    for sizes in WHOLE {
        let keys = sizes[4];
        cases.extend(typed!(format!("infinity and NaN in values, {keys} keys of whole tiles"), bad_values(sizes)));
        cases.extend(typed!(format!("NaN in a key, {keys} keys of whole tiles"), bad_key(sizes)));
        cases.extend(typed!(format!("NaN and infinity left out, {keys} keys of whole tiles"), left_out(sizes)));
        cases.extend(typed!(format!("scores far apart, {keys} keys of whole tiles"), far_apart(sizes)));
    }
    cases.push(Case::new("addends of NaN and +inf", bad_addends));
    cases.push(Case::new("scores far apart, and far from 0", |q| far(q, &[1e4, 10_001.0, 9998.0, 1e4, 9000.0])));
    cases.push(Case::new("scores near the greatest number", |q| far(q, &[-1e38, 1e38, 0.0, -80.0])));
    cases.push(Case::new("scores that rise", |q| slope(q, 0.25)));
    cases.push(Case::new("scores that fall", |q| slope(q, -0.25)));
    cases
}

/// Compares results alone: NaN among scores has no defined logarithm of the sum.
fn hold_results<T: Real>(q: &Conditioned, problem: &Problem) -> Result<(), Failure> {
    let (y, _) = run_forward::<T>(q, problem, true)?;
    Failure::unless_close(&problem.forward().0, &y, rounding::<T>(), 1e-5 + 1.5 * rounding::<T>())
}

/// Sizes with a multiple of 32 keys, so that every tile is whole.
///
/// In 16 bits, more than 16 queries of 64 elements take the matrix units.
const WHOLE: [AttentionSizes; 2] = [[2, 2, 1, 17, 32, 64], [2, 2, 1, 17, 64, 64]];

/// A problem whose keys and values past the length of their batch are `bad`.
fn spoilt_past_lengths([queries, keys, dim]: [u64; 3], bad: f32) -> Problem {
    let mut problem = Problem::new(packed([2, 2, 1, queries, keys, dim]), 21);
    problem.key_lens = Some(vec![keys as u32 - 4, 3]);
    let (keys, dim) = (keys as usize, dim as usize);
    for rows in [&mut problem.k, &mut problem.v] {
        rows[(keys - 4) * dim..keys * dim].fill(bad);
        rows[(keys + 3) * dim..].fill(bad);
    }
    problem
}

pub(super) fn unread<T: Real>(q: &Conditioned, pass: AttentionPass) -> Result<(), Failure> {
    for bad in [f32::NAN, f32::INFINITY] {
        for sizes in [[5, 9, 8], [5, 70, 8]] {
            pass.hold::<T>(q, &spoilt_past_lengths(sizes, bad))?;
        }
    }
    Ok(())
}

/// Rows, elements of a row, and the spoilt row: few rows, many, long ones, and full tiles.
pub(super) const SPOILT: [([u64; 2], usize); 4] = [([9, 4], 4), ([70, 4], 66), ([20, 72], 17), ([66, 64], 40)];

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

/// Compares with values that are not finite: single elements, and the row of a key.
///
/// They are in the first batch.
fn bad_values<T: Real>(q: &Conditioned, sizes: AttentionSizes) -> Result<(), Failure> {
    let params = packed(sizes);
    let value = |key: u64| start(&params.v, [0, 0, key]);
    for [first, second, row] in [
        [f32::INFINITY, 0.5, f32::INFINITY],
        [f32::NEG_INFINITY, f32::NEG_INFINITY, 0.25],
        // Infinities of both signs add up to NaN.
        [f32::INFINITY, f32::NEG_INFINITY, 0.25],
        [f32::NAN, 0.5, f32::NAN],
    ] {
        let mut problem = Problem::new(params, 26);
        (problem.v[value(5) + 3], problem.v[value(params.keys - 2) + 3]) = (first, second);
        problem.v[value(20)..][..params.dim as usize / 2].fill(row);
        hold_results::<T>(q, &problem)?;
    }
    Ok(())
}

/// Compares with a key of NaN, which all queries of the first batch read.
fn bad_key<T: Real>(q: &Conditioned, sizes: AttentionSizes) -> Result<(), Failure> {
    let params = packed(sizes);
    [0, params.keys - 1].iter().try_for_each(|&key| {
        let mut problem = Problem::new(params, 27);
        problem.k[start(&params.k, [0, 0, key])..][..params.dim as usize].fill(f32::NAN);
        hold_results::<T>(q, &problem)
    })
}

/// Compares with rows that are not finite, and left out by lengths or masks.
fn left_out<T: Real>(q: &Conditioned, sizes: AttentionSizes) -> Result<(), Failure> {
    let [_, _, _, queries, keys, dim] = sizes;
    for bad in [f32::NAN, f32::INFINITY] {
        hold_forward::<T>(q, &spoilt_past_lengths([queries, keys, dim], bad))?;
        // A third of the queries read no key.
        hold_forward::<T>(q, &spoilt_by_mask(sizes, false, bad))?;
        hold_forward::<T>(q, &spoilt_by_mask(sizes, true, bad))?;
        // No query of the first batch reads a key, and all queries of the second read all keys.
        let mut problem = Problem::new(packed(sizes), 28);
        problem.key_lens = Some(vec![0, keys as u32]);
        for rows in [&mut problem.k, &mut problem.v] {
            rows[..(keys * dim) as usize].fill(bad);
        }
        hold_forward::<T>(q, &problem)?;
    }
    Ok(())
}

/// Compares with keys whose score is 0 or a distance of either sign, every third or half.
///
/// Keys and queries of every element type give exact scores.
fn far_apart<T: Real>(q: &Conditioned, sizes: AttentionSizes) -> Result<(), Failure> {
    let params = AttentionParams { scale: 1.0, ..packed(sizes) };
    for [high, low] in [[0.0, 0.0], [80.0, 0.0], [88.0, 0.0], [9984.0, 16.0]] {
        for by_halves in [false, true] {
            let mut problem = Problem::new(params, 29);
            let is_far = |key: usize| if by_halves { key >= params.keys as usize / 2 } else { key % 3 == 1 };
            for (row, k) in problem.k.chunks_mut(params.dim as usize).enumerate() {
                k.fill(0.0);
                if is_far(row % params.keys as usize) {
                    (k[0], k[1]) = (high, low);
                }
            }
            for (row, query) in problem.q.chunks_mut(params.dim as usize).enumerate() {
                query.fill(0.0);
                query[..2].fill(if row % 3 == 0 { -1.0 } else { 1.0 });
            }
            hold_forward::<T>(q, &problem)?;
        }
    }
    Ok(())
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
