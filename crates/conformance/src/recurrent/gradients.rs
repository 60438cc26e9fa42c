//! The gradients of weights, biases and inputs.
//!
//! They are compared with products and sums in f64, and with central differences of the model.

use backend_api::Queue;
use core_types::params::recurrent::{GruInputs, GruVariant};
use nn_ops::{
    GruColumns, GruGradientPlan, GruGradients, GruMember, GruPassValues, GruPlan, GruResults, GruUpstream, GruWeights,
    Tensor,
};

use super::{
    backward::BackwardInputs,
    differences::{Slopes, unless_differences},
    forward::{VARIANTS, sizes},
    model::EnsembleInputs,
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// Members, batch, steps, inputs and states; some axes are empty.
const SIZES: [[usize; 5]; 6] =
    [[1, 1, 1, 1, 1], [2, 3, 4, 5, 8], [3, 5, 3, 9, 17], [2, 9, 2, 33, 20], [2, 3, 0, 4, 5], [2, 3, 2, 0, 5]];

/// All gradients of a pass.
pub(super) struct All<R> {
    pub(super) w: Vec<R>,
    pub(super) u: Vec<R>,
    pub(super) b: Vec<R>,
    pub(super) bu: Vec<R>,
    pub(super) x: Vec<R>,
    pub(super) first: Vec<R>,
}

/// The weights of all members.
pub(super) fn members(inputs: &EnsembleInputs) -> Result<Vec<GruMember>, Failure> {
    let [members, input, n] =
        [inputs.params.members, inputs.params.input, inputs.params.hidden].map(|len| len as usize);
    let of = |all: &[f32], member: usize| {
        let len = all.len() / members;
        all[member * len..][..len].to_vec()
    };
    let unit = |i| {
        let bu = inputs.bu.as_ref().map(|bu| of(bu, i));
        GruMember::new(input, n, GruColumns { w: of(&inputs.w, i), u: of(&inputs.u, i), b: of(&inputs.b, i), bu })
    };
    Ok((0..members).map(unit).collect::<Result<_, _>>()?)
}

/// Products and sums in f64, a row of a step at a time.
pub(super) fn expected(pass: &BackwardInputs, decay: f64) -> All<f64> {
    let (p, of_gates) = (&pass.inputs.params, pass.gradients());
    let [members, batch, steps, input, n] = [p.members, p.batch, p.steps, p.input, p.hidden].map(|len| len as usize);
    let plane = members * steps * batch * n;
    let mut all = All {
        w: vec![0.0; pass.inputs.w.len()],
        u: vec![0.0; pass.inputs.u.len()],
        b: vec![0.0; pass.inputs.b.len()],
        bu: vec![0.0; pass.inputs.bu.as_ref().map_or(0, Vec::len)],
        x: vec![0.0; pass.inputs.x.len()],
        first: of_gates.first,
    };
    for (member, step) in (0..members).flat_map(|member| (0..steps).map(move |step| (member, step))) {
        for row in 0..batch {
            let at = ((member * steps + step) * batch + row) * n;
            let weight = decay.powi((steps - 1 - step) as i32);
            let x = pass.inputs.input_of(member, step, row);
            let seen = p.input_row(member as u64, step as u64, row as u64) as usize * input;
            let saved = |matrix: usize, j: usize| f64::from(pass.saved[matrix * plane + at + j]);
            for column in 0..3 * n {
                let d = of_gates.gates[3 * at + column];
                all.b[member * 3 * n + column] += weight * d;
                for (i, x) in x.iter().enumerate() {
                    let place = (member * input + i) * 3 * n + column;
                    all.w[place] += weight * d * x;
                    all.x[seen + i] += d * f64::from(pass.inputs.w[place]);
                }
                let (candidate, j) = (column >= 2 * n, column % n);
                let after = candidate && p.variant == GruVariant::ResetAfter;
                let d = if after { saved(1, j) * d } else { d };
                for k in 0..n {
                    let of_state = if candidate && !after { saved(4, k) } else { saved(3, k) };
                    all.u[(member * n + k) * 3 * n + column] += weight * d * of_state;
                }
                if after {
                    all.bu[member * n + j] += weight * d;
                }
            }
        }
    }
    all
}

/// Forward, backward, and the plan.
fn run(q: &Conditioned, pass: &BackwardInputs, decay: f32) -> Result<All<f32>, Failure> {
    let p = &pass.inputs.params;
    let [members_, batch, steps, n] = [p.members, p.batch, p.steps, p.hidden].map(|len| len as usize);
    let weights = GruWeights::new(q, &members(&pass.inputs)?)?;
    let plan = GruPlan::new(&weights, batch, steps, p.inputs)?;
    let states = [members_, steps, batch, n];
    let state = [members_, batch, n];
    let x = Tensor::from_values(q, plan.inputs().shape(), &pass.inputs.x)?;
    let h0 = pass.inputs.h0.as_ref().map(|h0| Tensor::from_values(q, &state, h0)).transpose()?;
    let mut last = Tensor::alloc(q, &state)?;
    let mut saved = Tensor::alloc(q, &[5, members_, steps, batch, n])?;
    let results = GruResults { states: None, last: last.at_mut(), saved: Some(saved.at_mut()) };
    plan.forward(q, &weights, x.at(), h0.as_ref().map(Tensor::at), results)?;

    let d_states = pass.d_states.as_ref().map(|d| Tensor::from_values(q, &states, d)).transpose()?;
    let d_h_t = pass.d_h_t.as_ref().map(|d| Tensor::from_values(q, &state, d)).transpose()?;
    let upstream = GruUpstream { states: d_states.as_ref().map(Tensor::at), last: d_h_t.as_ref().map(Tensor::at) };
    let mut gates = Tensor::alloc(q, &[members_, steps, batch, 3 * n])?;
    let mut first = Tensor::alloc(q, &state)?;
    let into = GruGradients { gates: gates.at_mut(), first: first.at_mut() };
    plan.backward(q, &weights, saved.at(), upstream, into)?;

    let gradients = GruGradientPlan::new(&plan, decay)?;
    let (mut workspace, mut of_weights) = (gradients.workspace(q)?, weights.like(q)?);
    let values = GruPassValues { x: x.at(), saved: saved.at(), gates: gates.at() };
    gradients.weights(q, &mut workspace, values, &mut of_weights)?;
    let mut of_x = Tensor::from_values(q, plan.inputs().shape(), &vec![0.0; pass.inputs.x.len()])?;
    gradients.add_inputs(q, &mut workspace, &weights, gates.at(), of_x.at_mut())?;
    let units = of_weights.members(q)?;
    let all = |part: fn(&GruMember) -> &[f32]| units.iter().flat_map(part).copied().list();
    Ok(All {
        w: all(GruMember::w),
        u: all(GruMember::u),
        b: all(GruMember::b),
        bu: all(|unit| unit.bu().unwrap_or_default()),
        x: q.download(of_x.buffer())?,
        first: q.download(first.buffer())?,
    })
}

fn hold(q: &Conditioned, pass: &BackwardInputs, decay: f32) -> Result<(), Failure> {
    let (expected, got) = (expected(pass, f64::from(decay)), run(q, pass, decay)?);
    for (what, expected, got) in [
        ("w", &expected.w, &got.w),
        ("u", &expected.u, &got.u),
        ("b", &expected.b, &got.b),
        ("bu", &expected.bu, &got.bu),
        ("x", &expected.x, &got.x),
        ("first states", &expected.first, &got.first),
    ] {
        // Sums of many terms, as exact as the largest of them.
        let largest = expected.iter().fold(1.0, |largest: f64, value| largest.max(value.abs()));
        Failure::unless_close(expected, got, 1e-5, 1e-5 * largest).map_err(|failure| failure.of(what))?;
    }
    Ok(())
}

pub(super) fn gradients() -> OpSpec {
    let mut cases = Vec::new();
    for variant in VARIANTS {
        for of in SIZES {
            cases.push(Case::new(format!("{variant:?}, {of:?}"), move |q| {
                GruInputs::ALL.into_iter().zip([1.0, 0.7, 0.7, 1.0]).try_for_each(|(form, decay)| {
                    hold(q, &BackwardInputs::of(EnsembleInputs::new(sizes(of), variant, form)), decay)
                })
            }));
        }
    }
    for variant in VARIANTS {
        cases.push(Case::new(format!("{variant:?}, central differences of ten steps"), move |q| {
            differences(q, variant)
        }));
    }
    OpSpec { op: "recurrent.gru_gradients", cases }
}

/// Compares every gradient with central differences of the model.
///
/// The differentiated sum is `sum of d_states states + d_h_t last`.
fn differences(q: &Conditioned, variant: GruVariant) -> Result<(), Failure> {
    let whole = BackwardInputs::of(EnsembleInputs::new(sizes([1, 2, 10, 3, 5]), variant, GruInputs::Sequence));
    let got = run(q, &whole, 1.0)?;
    let slopes: [Slopes<EnsembleInputs>; 6] = [
        ("w", |inputs| &mut inputs.w, got.w),
        ("u", |inputs| &mut inputs.u, got.u),
        ("b", |inputs| &mut inputs.b, got.b),
        ("bu", |inputs| inputs.bu.as_deref_mut().unwrap_or_default(), got.bu),
        ("x", |inputs| &mut inputs.x, got.x),
        ("first states", |inputs| inputs.h0.as_deref_mut().unwrap_or_default(), got.first),
    ];
    let value = |inputs: &EnsembleInputs| {
        let results = inputs.results();
        let sum = |d: &Option<Vec<f32>>, of: &[f64]| {
            d.iter().flatten().zip(of).map(|(&d, value)| f64::from(d) * value).sum::<f64>()
        };
        sum(&whole.d_states, &results.states) + sum(&whole.d_h_t, &results.last)
    };
    unless_differences(&whole.inputs, slopes, value)
}
