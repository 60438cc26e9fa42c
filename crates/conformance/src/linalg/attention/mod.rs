//! Attention, forward and backward, against an f64 model.

mod backward;
mod forward;
mod masks;
mod model;
mod plans;
mod refuse;
mod special;

use backend_api::{
    BackendError, Buffer, DType, Element, Queue, Real,
    ops::linalg::{Attention, AttentionBackward, AttentionOps},
};
use core_types::params::{attention::HeadStrides, optim::StepState};
use model::{AttentionSizes, Problem, UNTOUCHED, covered};

use super::{
    batches,
    model::{InputSource, rounding},
    rows::{download, unless_near, upload},
};
use crate::{Buf, Conditioned, Failure, OpSpec};

pub(super) fn specs() -> Vec<OpSpec> {
    let mut forward = forward::cases();
    forward.extend(masks::cases(AttentionPass::Forward));
    forward.extend(special::cases());
    vec![
        OpSpec { op: "linalg.attention", cases: forward },
        OpSpec { op: "linalg.attention_backward", cases: backward::cases() },
        OpSpec { op: "linalg.attention plans", cases: plans::cases() },
        OpSpec { op: "linalg.attention refusals", cases: refuse::cases() },
    ]
}

/// A pass of attention.
#[derive(Clone, Copy)]
enum AttentionPass {
    Forward,
    Backward,
}

impl AttentionPass {
    /// Sizes of a problem with dropout or with a mask of any shape.
    fn sizes(self) -> AttentionSizes {
        match self {
            Self::Forward => [2, 4, 2, 5, 19, 8],
            Self::Backward => [2, 4, 2, 5, 9, 8],
        }
    }

    /// Compares results or gradients with the model.
    fn hold<T: Real>(self, q: &Conditioned, problem: &Problem) -> Result<(), Failure> {
        match self {
            Self::Forward => hold_forward::<T>(q, problem),
            Self::Backward => hold_backward::<T>(q, problem),
        }
    }
}

/// Operands on the device.
struct DeviceOperands<T: Real> {
    q: Buf<T>,
    k: Buf<T>,
    v: Buf<T>,
    key_lens: Option<Buf<u32>>,
    keep: Option<Buf<bool>>,
    addend: Option<Buf<f32>>,
    state: Option<Buf<StepState>>,
}

impl<T: Real> DeviceOperands<T> {
    fn new(q: &Conditioned, problem: &Problem) -> Result<Self, Failure> {
        let state = problem.steps.map(|[step, skipped]| [StepState { step, skipped, ..StepState::new(1.0) }]);
        Ok(Self {
            q: upload::<T>(q, &problem.q)?,
            k: upload::<T>(q, &problem.k)?,
            v: upload::<T>(q, &problem.v)?,
            key_lens: given(q, problem.key_lens.as_deref())?,
            keep: given(q, problem.keep.as_deref())?,
            addend: given(q, problem.addend.as_deref())?,
            state: given(q, state.as_ref().map(|state| &state[..]))?,
        })
    }
}

fn given<T: Element>(q: &Conditioned, values: Option<&[T]>) -> Result<Option<Buf<T>>, BackendError> {
    values.map(|values| q.upload(values)).transpose()
}

/// The result, and the logarithms of the sums, which are untouched unless wanted.
fn run_forward<T: Real>(q: &Conditioned, problem: &Problem, with_lse: bool) -> Result<(Vec<f32>, Vec<f32>), Failure> {
    let on = DeviceOperands::<T>::new(q, problem)?;
    let p = &problem.params;
    let mut y = upload::<T>(q, &vec![UNTOUCHED; covered(&p.y, problem.of_queries(), p.dim).len()])?;
    let mut lse = q.upload(&vec![UNTOUCHED; problem.of_queries().iter().product::<u64>() as usize])?;
    q.attention(Attention {
        params: p,
        q: on.q.view(),
        k: on.k.view(),
        v: on.v.view(),
        key_lens: on.key_lens.as_ref().map(|lens| lens.view()),
        keep: on.keep.as_ref().map(|keep| keep.view()),
        addend: on.addend.as_ref().map(|addend| addend.view()),
        state: on.state.as_ref().map(|state| state.view()),
        y: y.view_mut(),
        lse: with_lse.then(|| lse.view_mut()),
    })?;
    Ok((download::<T>(q, &y)?, download::<f32>(q, &lse)?))
}

/// The buffers of the gradients with respect to queries, keys and values.
///
/// The results of the forward pass are the model's.
fn run_backward<T: Real>(q: &Conditioned, problem: &Problem) -> Result<[Vec<f32>; 3], Failure> {
    let on = DeviceOperands::<T>::new(q, problem)?;
    let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<f32>>();
    let (y, lse) = problem.forward();
    let (y, lse) = (upload::<T>(q, &narrow(y))?, q.upload(&narrow(lse))?);
    let g = upload::<T>(q, &problem.g)?;
    let blank = |values: &[f32]| upload::<T>(q, &vec![UNTOUCHED; values.len()]);
    let (mut dq, mut dk, mut dv) = (blank(&problem.q)?, blank(&problem.k)?, blank(&problem.v)?);
    q.attention_backward(AttentionBackward {
        params: &problem.params,
        q: on.q.view(),
        k: on.k.view(),
        v: on.v.view(),
        key_lens: on.key_lens.as_ref().map(|lens| lens.view()),
        keep: on.keep.as_ref().map(|keep| keep.view()),
        addend: on.addend.as_ref().map(|addend| addend.view()),
        state: on.state.as_ref().map(|state| state.view()),
        y: y.view(),
        lse: lse.view(),
        g: g.view(),
        dq: dq.view_mut(),
        dk: dk.view_mut(),
        dv: dv.view_mut(),
    })?;
    Ok([download::<T>(q, &dq)?, download::<T>(q, &dk)?, download::<T>(q, &dv)?])
}

/// Compares results with the model.
///
/// A result is a mean of values of at most 1, so its error is absolute: of the weights in f32, of
/// weights that are rounded to `T`, and of the values' factors.
fn hold_forward<T: Real>(q: &Conditioned, problem: &Problem) -> Result<(), Failure> {
    let p = &problem.params;
    let (y, lse) = problem.forward();
    let (got, got_lse) = run_forward::<T>(q, problem, true)?;
    unless_untouched(&p.y, problem.of_queries(), p.dim, &got)?;
    let within = (1e-5 + 1.5 * rounding::<T>()) * f64::from(p.dropout.scale.max(1.0));
    Failure::unless_close(&y, &got, rounding::<T>(), within)?;
    Failure::unless_close(&lse, &got_lse, 1e-6, 1e-5)
}

/// Compares gradients with the model.
fn hold_backward<T: Real>(q: &Conditioned, problem: &Problem) -> Result<(), Failure> {
    let p = &problem.params;
    let got = run_backward::<T>(q, problem)?;
    let (of_queries, of_keys) = (problem.of_queries(), problem.of_keys());
    let tensors = [("dq", &p.q, of_queries), ("dk", &p.k, of_keys), ("dv", &p.v, of_keys)];
    for ((name, strides, shape), (want, got)) in tensors.into_iter().zip(problem.backward().iter().zip(&got)) {
        unless_untouched(strides, shape, p.dim, got)?;
        let used = covered(strides, shape, p.dim);
        unless_near(name, &selected(&used, want), &selected(&used, got), gradient_bound::<T>())?;
    }
    Ok(())
}

/// The error of a gradient: of its terms in f32, or of weights and results rounded to `T`.
fn gradient_bound<T: Real>() -> f64 {
    match T::DTYPE {
        DType::F16 => 1e-2,
        DType::Bf16 => 5e-2,
        _ => 2e-5,
    }
}

/// The elements that are used.
fn selected<A: Copy>(used: &[bool], all: &[A]) -> Vec<A> {
    all.iter().zip(used).filter(|(_, used)| **used).map(|(&value, _)| value).collect()
}

/// Requires elements between the rows of a result to be as they were.
fn unless_untouched(strides: &HeadStrides, shape: [u64; 3], dim: u64, got: &[f32]) -> Result<(), Failure> {
    let used = covered(strides, shape, dim);
    match got.iter().zip(&used).position(|(&got, used)| !used && got != UNTOUCHED) {
        Some(index) => Err(Failure::Broken(format!("element {index} between rows became {}", got[index]))),
        None => Ok(()),
    }
}
