//! Losses, read from states.

use core_types::params::recurrent::{LOG_LOSS_LIMIT, LossHead, NEGLIGIBLE_PROBABILITY, RolloutParams, Stochastic};

use super::cell::{load, store};
use crate::{
    linalg::vmath::exp,
    simd::{Kernel, floats::Floats},
};

/// Makes the combined states of some rows, their losses, and adds to their entropies.
pub(super) struct Head<'a> {
    pub(super) params: &'a RolloutParams,
    pub(super) weights: &'a [f32],
    pub(super) h: &'a [f32],
    pub(super) combined: &'a mut [f32],
    pub(super) losses: &'a mut [f32],
    pub(super) entropy: &'a mut [f32],
}

impl<L: Floats> Kernel<L> for Head<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let hidden = self.params.gru.hidden as usize;
        let rows = self.losses.iter_mut().zip(self.entropy).enumerate();
        for (row, (loss, entropy)) in rows {
            let combined = &mut self.combined[row * self.weights.len()..][..self.weights.len()];
            let (h, part) = combined.split_at_mut(hidden);
            h.copy_from_slice(&self.h[row * hidden..][..hidden]);
            match self.params.part {
                Stochastic::StridedSoftmax => {
                    for (i, logit) in part.iter_mut().enumerate() {
                        *logit = h[(i as u64 * self.params.gru.hidden / self.params.stochastic) as usize];
                    }
                    *entropy += softmax(l, part);
                }
                Stochastic::CopyHidden => part.copy_from_slice(h),
                Stochastic::Zeros => part.fill(0.0),
            }
            let mut sum = l.splat(0.0);
            for at in (0..combined.len()).step_by(L::N) {
                sum = l.mul_add(load(l, &combined[at..]), load(l, &self.weights[at..]), sum);
            }
            let sum = l.sum(sum);
            *loss = match self.params.head {
                LossHead::Linear => sum,
                LossHead::ExpClamped => of_scalar(l, sum.clamp(-LOG_LOSS_LIMIT, LOG_LOSS_LIMIT)),
            };
        }
    }
}

/// exp(x).
#[inline(always)]
fn of_scalar<L: Floats>(l: L, x: f32) -> f32 {
    let mut y = [0.0];
    l.store_partial(&mut y, exp(l, l.splat(x)));
    y[0]
}

/// The softmax of `s` in its place; returns its entropy. NaN makes it NaN, and the entropy 0.
#[inline(always)]
fn softmax<L: Floats>(l: L, s: &mut [f32]) -> f32 {
    let greatest = s.iter().fold(f32::NEG_INFINITY, |greatest, &x| if x > greatest { x } else { greatest });
    let mut sum = l.splat(0.0);
    for at in (0..s.len()).step_by(L::N) {
        let s = &mut s[at..];
        let term = exp(l, l.sub(load_below(l, s), l.splat(greatest)));
        store(l, s, term);
        sum = l.add(sum, term);
    }
    let (sum, mut entropy) = (l.sum(sum), 0.0);
    for x in s {
        *x /= sum;
        if *x > NEGLIGIBLE_PROBABILITY {
            entropy -= *x * x.ln();
        }
    }
    entropy
}

/// As [`load`], with -inf for elements that are not there.
#[inline(always)]
fn load_below<L: Floats>(l: L, s: &[f32]) -> L::V {
    if s.len() >= L::N { l.load(s) } else { l.load_partial(s, f32::NEG_INFINITY) }
}
