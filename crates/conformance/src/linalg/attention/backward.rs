//! Gradients of attention, against the formulas in f64 and against central differences.

use backend_api::Real;
use core_types::params::attention::AttentionParams;
use half::{bf16, f16};

use super::{
    AttentionPass,
    forward::{EMPTY, ROWS, dropout, drops, layouts, sized},
    gradient_bound, masks,
    model::{Problem, packed},
    run_backward, selected,
    special::{SPOILT, spoilt_row, unread},
    unless_near,
};
use crate::{Case, Conditioned, Failure, spec::typed};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (number, [queries, keys, dim]) in ROWS.into_iter().enumerate() {
        let (name, sizes) = (format!("{queries} queries, {keys} keys of {dim}"), [1, 2, 1, queries, keys, dim]);
        cases.push(Case::new(format!("f32, {name}"), move |q| sized::<f32>(q, AttentionPass::Backward, sizes)));
        // 16-bit types differ in the products alone.
        cases.push(match number % 2 {
            0 => Case::new(format!("f16, {name}"), move |q| sized::<f16>(q, AttentionPass::Backward, sizes)),
            _ => Case::new(format!("bf16, {name}"), move |q| sized::<bf16>(q, AttentionPass::Backward, sizes)),
        });
    }
    cases.extend(EMPTY.map(|(name, sizes)| Case::new(name, move |q| sized::<f32>(q, AttentionPass::Backward, sizes))));
    cases.extend(layouts(AttentionPass::Backward));
    cases.extend(masks::cases(AttentionPass::Backward));
    cases.push(Case::new("dropout by the record of an optimizer", |q| {
        drops::<f32>(q, AttentionPass::Backward, 0.5, 0, Some([u64::MAX, 7]))
    }));
    cases.extend(typed!("NaN and infinity in keys that no query reads", unread(AttentionPass::Backward)));
    for (name, operand) in [("query", "q"), ("key", "k"), ("value", "v"), ("gradient", "g")] {
        cases.extend(typed!(format!("NaN in a {name} that others do not read"), read_by_others(operand)));
    }
    cases.push(Case::new("central differences", differences));
    cases.extend(typed!("equal bits of two runs", again()));
    cases
}

/// Compares the gradients of a problem with a row of NaN.
///
/// Gradients are NaN for queries that read the row, and for their keys.
fn read_by_others<T: Real>(q: &Conditioned, operand: &str) -> Result<(), Failure> {
    for place in SPOILT {
        let problem = spoilt_row(place, operand, f32::NAN);
        let wanted = problem.backward();
        for ((name, want), got) in ["dq", "dk", "dv"].into_iter().zip(&wanted).zip(run_backward::<T>(q, &problem)?) {
            let defined: Vec<bool> = want.iter().map(|want| !want.is_nan()).collect();
            if let Some(index) = got.iter().zip(&defined).position(|(got, defined)| got.is_nan() == *defined) {
                return Err(Failure::Broken(format!("{name}: element {index} of {place:?} became {}", got[index])));
            }
            unless_near(name, &selected(&defined, want), &selected(&defined, &got), gradient_bound::<T>())?;
        }
    }
    Ok(())
}

/// Compares with the slopes of the sum of `g y` along every element of q, k and v.
fn differences(q: &Conditioned) -> Result<(), Failure> {
    // Elements are multiples of 1/128, so that f32 holds both points exactly.
    const STEP: f32 = 1.0 / 1024.0;
    let params =
        AttentionParams { causal: 1, causal_offset: 1, dropout: dropout(0.5, 3), ..packed([1, 2, 1, 3, 4, 3]) };
    let problem = Problem::new(params, 35);
    let loss =
        |problem: &Problem| -> f64 { problem.forward().0.iter().zip(&problem.g).map(|(y, &g)| y * f64::from(g)).sum() };
    for (name, got) in ["q", "k", "v"].into_iter().zip(run_backward::<f32>(q, &problem)?) {
        let slope = |element: usize| {
            let [mut above, mut below] = [problem.clone(), problem.clone()];
            above.operand(name)[element] += STEP;
            below.operand(name)[element] -= STEP;
            (loss(&above) - loss(&below)) / f64::from(2.0 * STEP)
        };
        let slopes: Vec<f64> = (0..got.len()).map(slope).collect();
        unless_near(name, &slopes, &got, 1e-4)?;
    }
    Ok(())
}

/// Compares the bits of two runs, whose sums over queries and heads have one order.
fn again<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    let problem = Problem::new(packed([2, 4, 1, 66, 5, 8]), 36);
    let [first, second] = [run_backward::<T>(q, &problem)?, run_backward::<T>(q, &problem)?];
    first.iter().zip(&second).try_for_each(|(first, second)| Failure::unless_equal(first, second))
}
