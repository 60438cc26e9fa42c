//! Forward passes of gated recurrent units, compared with their definition.
//!
//! Neither the batch size nor a split into calls changes their bits.

use backend_api::{
    BackendError, Buffer, Queue, Real,
    ops::recurrent::{GruForward, GruLayer, RecurrentOps},
};
use core_types::params::recurrent::{GruInputs, GruVariant};
use half::{bf16, f16};

use super::model::{EnsembleInputs, ForwardResults, RecurrentSizes};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

pub(super) const VARIANTS: [GruVariant; 2] = [GruVariant::ResetBefore, GruVariant::ResetAfter];

/// Relative and absolute error of a state.
const BOUNDS: (f64, f64) = (1e-5, 5e-6);

/// Members, batch, steps, inputs and states of the cases.
///
/// They are sizes around vectors, tiles, the threads of a block and the rows that a thread takes,
/// and empty axes.
pub(super) const SIZES: [[usize; 5]; 14] = [
    [1, 1, 1, 1, 1],
    [1, 2, 3, 5, 4],
    [2, 3, 2, 4, 8],
    [1, 4, 2, 7, 15],
    [3, 5, 2, 9, 16],
    [2, 8, 3, 3, 17],
    [1, 17, 2, 6, 48],
    [2, 9, 2, 65, 33],
    [1, 3, 2, 130, 97],
    [1, 5, 2, 3, 300],
    [2, 3, 0, 4, 5],
    [2, 3, 2, 0, 5],
    [2, 3, 2, 4, 0],
    [0, 3, 2, 4, 5],
];

pub(super) fn sizes([members, batch, steps, input, hidden]: [usize; 5]) -> RecurrentSizes {
    RecurrentSizes { members, batch, steps, input, hidden }
}

/// The values in `T`.
pub(super) fn of_type<T: Real>(values: &[f32]) -> Vec<T> {
    values.iter().map(|&value| T::from_f32(value)).list()
}

/// Inputs whose weights have no more digits than `T` has.
pub(super) fn rounded<T: Real>(mut inputs: EnsembleInputs) -> EnsembleInputs {
    let EnsembleInputs { w, u, b, bu, .. } = &mut inputs;
    for weights in [w, u, b].into_iter().chain(bu) {
        weights.iter_mut().for_each(|weight| *weight = T::from_f32(*weight).to_f32());
    }
    inputs
}

/// Runs the op on copies of the inputs, with weights of type `T`.
fn run<T: Real>(q: &Conditioned, inputs: &EnsembleInputs) -> Result<ForwardResults<f32>, BackendError> {
    let p = &inputs.params;
    let upload = |values: &[f32]| q.upload(&of_type::<T>(values));
    let (w, u, b) = (upload(&inputs.w)?, upload(&inputs.u)?, upload(&inputs.b)?);
    let bu = inputs.bu.as_ref().map(|bu| upload(bu)).transpose()?;
    let x = q.upload(&inputs.x)?;
    let h0 = inputs.h0.as_ref().map(|h0| q.upload(h0)).transpose()?;
    let state = (p.members * p.batch * p.hidden) as usize;
    let (mut last, mut states) = (q.alloc::<f32>(state)?, q.alloc::<f32>(p.steps as usize * state)?);
    let mut saved = q.alloc::<f32>(5 * p.steps as usize * state)?;
    let bu = bu.as_ref().map(|bu| bu.view());
    q.gru_forward(GruForward {
        params: p,
        layer: GruLayer { w: w.view(), u: u.view(), b: b.view(), bu },
        x: x.view(),
        h0: h0.as_ref().map(|h0| h0.view()),
        states: Some(states.view_mut()),
        h_t: last.view_mut(),
        saved: Some(saved.view_mut()),
    })?;
    Ok(ForwardResults { states: q.download(&states)?, last: q.download(&last)?, saved: q.download(&saved)? })
}

/// Compares the results with weights of type `T`, which the inputs' are, with the definition.
fn hold<T: Real>(q: &Conditioned, inputs: &EnsembleInputs) -> Result<(), Failure> {
    let (expected, got) = (inputs.results(), run::<T>(q, inputs)?);
    unless_all_close([
        ("states", &expected.states, &got.states),
        ("the last state", &expected.last, &got.last),
        ("what is saved", &expected.saved, &got.saved),
    ])
}

/// Compares named results with the results of the definition.
pub(super) fn unless_all_close<const N: usize>(results: [(&str, &[f64], &[f32]); N]) -> Result<(), Failure> {
    let (rtol, atol) = BOUNDS;
    results.into_iter().try_for_each(|(what, expected, got)| {
        Failure::unless_close(expected, got, rtol, atol).map_err(|failure| failure.of(what))
    })
}

pub(super) fn forward() -> OpSpec {
    let mut cases = Vec::new();
    for variant in VARIANTS {
        for of in SIZES {
            cases.push(Case::new(format!("{variant:?}, {of:?}"), move |q| {
                GruInputs::ALL
                    .into_iter()
                    .try_for_each(|form| hold::<f32>(q, &EnsembleInputs::new(sizes(of), variant, form)))
            }));
        }
    }
    for variant in VARIANTS {
        cases.push(Case::new(format!("{variant:?}, batches"), move |q| {
            let of = |batch: u32| sizes([2, batch as usize, 2, 3, 5]);
            BATCHES
                .into_iter()
                .try_for_each(|batch| hold::<f32>(q, &EnsembleInputs::new(of(batch), variant, GruInputs::Sequence)))
        }));
        cases.push(Case::new(format!("{variant:?}, states that begin as zeros"), move |q| {
            let inputs = EnsembleInputs {
                h0: None,
                ..EnsembleInputs::new(sizes([2, 3, 2, 4, 9]), variant, GruInputs::Sequence)
            };
            hold::<f32>(q, &inputs)?;
            hold::<f16>(q, &rounded::<f16>(inputs.clone()))?;
            hold::<bf16>(q, &rounded::<bf16>(inputs))
        }));
        cases.push(Case::new(format!("{variant:?}, sums far from zero"), move |q| saturated(q, variant)));
        cases.push(Case::new(format!("{variant:?}, bits of rows and calls"), move |q| bits(q, variant)));
        cases.push(Case::new(format!("{variant:?}, what is not a number"), move |q| not_numbers(q, variant)));
    }
    for variant in VARIANTS {
        for of in SIZES {
            cases.push(Case::new(format!("{variant:?}, weights of 16 bits, {of:?}"), move |q| {
                GruInputs::ALL.into_iter().try_for_each(|form| {
                    let inputs = EnsembleInputs::new(sizes(of), variant, form);
                    hold::<f16>(q, &rounded::<f16>(inputs.clone()))?;
                    hold::<bf16>(q, &rounded::<bf16>(inputs))
                })
            }));
        }
    }
    cases.push(Case::new("biases of the other variant", other_biases));
    for variant in VARIANTS {
        let large = Case::new(format!("{variant:?}, five members of 128 inputs and 256 states"), move |q| {
            hold::<f32>(q, &EnsembleInputs::new(sizes([5, 32, 10, 128, 256]), variant, GruInputs::Sequence))
        });
        cases.push(large.on_elements(5 * 32 * 10 * 384));
    }
    OpSpec { op: "recurrent.gru_forward", cases }
}

/// Gates at their ends: sigmoid and tanh of sums up to some hundreds.
fn saturated(q: &Conditioned, variant: GruVariant) -> Result<(), Failure> {
    let mut inputs = EnsembleInputs::new(sizes([1, 6, 3, 4, 21]), variant, GruInputs::Sequence);
    inputs.x.iter_mut().for_each(|x| *x *= 400.0);
    let (expected, got) = (inputs.results(), run::<f32>(q, &inputs)?);
    // An error in a sum is as large as the sum.
    Failure::unless_close(&expected.states, &got.states, 1e-4, 1e-4)
}

/// A row alone has the bits that it has among others, and two calls give the bits of one.
fn bits(q: &Conditioned, variant: GruVariant) -> Result<(), Failure> {
    const BATCH: usize = 33;
    let (input, hidden) = (6, 35);
    let whole = EnsembleInputs::new(sizes([2, BATCH, 5, input, hidden]), variant, GruInputs::Sequence);
    let all = run::<f32>(q, &whole)?;
    for row in [0, 7, 16, BATCH - 1] {
        let take = |of: &[f32], len: usize| {
            of.chunks(BATCH * len).flat_map(|matrix| matrix[row * len..][..len].to_vec()).list()
        };
        let mut alone = whole.clone();
        alone.params.batch = 1;
        alone.x = take(&whole.x, input);
        alone.h0 = whole.h0.as_ref().map(|h0| take(h0, hidden));
        let got = run::<f32>(q, &alone)?;
        Failure::unless_equal(&take(&all.states, hidden), &got.states)
            .and_then(|()| Failure::unless_equal(&take(&all.saved, hidden), &got.saved))
            .map_err(|failure| failure.of(&format!("row {row} alone")))?;
    }
    let mut state = whole.h0.clone();
    for (from, steps) in [(0, 2), (2, 3)] {
        let mut part = whole.clone();
        part.params.steps = steps as u64;
        part.x = whole.x[from * BATCH * input..][..steps * BATCH * input].to_vec();
        part.h0 = state;
        state = Some(run::<f32>(q, &part)?.last);
    }
    Failure::unless_equal(&all.last, &state.unwrap_or_default()).map_err(|failure| failure.of("two calls"))
}

/// Runs rows with a NaN or an infinity, which must leave all other rows unchanged.
///
/// The row with a NaN must be NaN throughout.
fn not_numbers(q: &Conditioned, variant: GruVariant) -> Result<(), Failure> {
    let (batch, input, hidden) = (6, 3, 18);
    let plain = EnsembleInputs::new(sizes([1, batch, 2, input, hidden]), variant, GruInputs::Sequence);
    let expected = run::<f32>(q, &plain)?;
    for (row, value) in [(1, f32::NAN), (4, f32::INFINITY)] {
        let mut inputs = plain.clone();
        inputs.x[row * input] = value;
        let got = run::<f32>(q, &inputs)?;
        let rows = expected.last.chunks(hidden).zip(got.last.chunks(hidden)).enumerate();
        for (at, (expected, got)) in rows {
            if at != row {
                Failure::unless_equal(expected, got)?;
            } else if value.is_nan() && got.iter().any(|h| !h.is_nan()) {
                return Err(Failure::Broken(format!("row {row} is not NaN throughout: {got:?}")));
            }
        }
    }
    Ok(())
}

fn other_biases(q: &Conditioned) -> Result<(), Failure> {
    let before = EnsembleInputs::new(sizes([1, 2, 2, 3, 4]), GruVariant::ResetBefore, GruInputs::Sequence);
    let after = EnsembleInputs::new(sizes([1, 2, 2, 3, 4]), GruVariant::ResetAfter, GruInputs::Sequence);
    let with = EnsembleInputs { bu: after.bu.clone(), ..before };
    let without = EnsembleInputs { bu: None, ..after };
    Failure::unless_refused("biases that do not belong", run::<f32>(q, &with).map(drop))?;
    Failure::unless_refused("biases that are missing", run::<f32>(q, &without).map(drop))
}
