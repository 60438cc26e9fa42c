//! Errors of predicted losses, and the gradients of the states.
//!
//! The error is `loss - target`, or the clamped product less `ln(target)`. The product `[h, s] w`
//! has the gradient `slope = scale error outer inner`, where `outer` is the slope of the error in
//! the clamped product and `inner` the slope of the clamp, and `h` has `slope w_h`. A copy `s = h`
//! adds `slope w_s`, a softmax adds `slope s_i (w_i - sum over j of s_j w_j)` to its element `i`.

use backend_api::{BackendError, ops::recurrent::RssmLoss};
use core_types::{
    float::ln,
    params::recurrent::{LossError, LossHead, RssmLossParams, Stochastic},
};

use super::{
    cell::{load, store},
    head::{StateComposition, read},
};
use crate::{
    CpuQueue,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Rows of a job.
const ROWS: usize = 64;

/// The op has checked its lengths.
pub(super) fn run(q: &CpuQueue, op: RssmLoss<'_, CpuQueue>) -> Result<(), BackendError> {
    let RssmLoss { params, head, states, targets, predicted, errors, slopes, combined, d_states } = op;
    if predicted.is_empty() {
        return Ok(());
    }
    let (hidden, jobs) = (params.hidden as usize, predicted.len().div_ceil(ROWS));
    let _jobs = q.reserve((jobs * size_of::<RssmLossRows<'_>>()) as u64)?;
    // A job has rows of every result.
    let results = predicted
        .chunks_mut(ROWS)
        .zip(errors.chunks_mut(ROWS))
        .zip(slopes.chunks_mut(ROWS))
        .zip(combined.chunks_mut(ROWS * head.len()))
        .zip(d_states.chunks_mut(ROWS * hidden))
        .zip(states.chunks(ROWS * hidden));
    let jobs = results.enumerate().map(|(i, (((((predicted, errors), slopes), combined), d_states), states))| {
        RssmLossRows { params, head, first: i * ROWS, states, targets, predicted, errors, slopes, combined, d_states }
    });
    let simd = q.simd();
    q.for_jobs(jobs.collect(), |_, rows| dispatch(simd, rows));
    Ok(())
}

/// Some of all members' rows, from `first` on.
struct RssmLossRows<'a> {
    params: &'a RssmLossParams,
    head: &'a [f32],
    first: usize,
    states: &'a [f32],
    targets: &'a [f32],
    predicted: &'a mut [f32],
    errors: &'a mut [f32],
    slopes: &'a mut [f32],
    combined: &'a mut [f32],
    d_states: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for RssmLossRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let &RssmLossParams { hidden, stochastic, part, head, error, scale, .. } = self.params;
        let (form, n, both) = (StateComposition { hidden, stochastic, part }, hidden as usize, self.head.len());
        for row in 0..self.predicted.len() {
            // The loss is read from the combined state.
            let (h, combined) = (&self.states[row * n..][..n], &mut self.combined[row * both..][..both]);
            combined[..n].copy_from_slice(h);
            let (dot, _) = form.combine(l, self.head, combined);
            let (inner, held) = self.params.held(dot);
            let loss = read(l, head, dot);
            // The error and the gradient of the product.
            let target = self.targets[(self.first + row) % self.targets.len()];
            let (error, outer) = match error {
                LossError::OfLosses => (loss - target, if head == LossHead::Linear { 1.0 } else { loss }),
                LossError::OfLogarithms => (held - ln(target), 1.0),
            };
            let slope = scale * error * outer * inner;
            (self.predicted[row], self.errors[row], self.slopes[row]) = (loss, error, slope);
            // The gradient of the state, directly and through a copy.
            let (of_h, of_part) = self.head.split_at(n);
            let d = &mut self.d_states[row * n..][..n];
            for at in (0..n).step_by(L::N) {
                let mut weights = load(l, &of_h[at..]);
                if part == Stochastic::CopyHidden {
                    weights = l.add(weights, load(l, &of_part[at..]));
                }
                store(l, &mut d[at..], l.mul(l.splat(slope), weights));
            }
            // The gradient through the softmax.
            if part == Stochastic::StridedSoftmax {
                let s = &combined[n..];
                let mean = s.iter().zip(of_part).fold(0.0, |sum: f32, (s, weight)| s.mul_add(*weight, sum));
                for (i, (s, weight)) in s.iter().zip(of_part).enumerate() {
                    d[form.state_of(i)] += slope * s * (weight - mean);
                }
            }
        }
    }
}
