//! Losses, read from states.
//!
//! The loss of a combined state `[h, s]` is `[h, s] w`, or `exp` of it clamped to `-10..=10`. A
//! softmax `s` of strided elements of `h` has the entropy `-sum over i of s_i ln s_i`. A normalised
//! `h` is `(h - mean) / sqrt(var + eps) gamma + beta` (Ba, Kiros, Hinton, 2016).

use core_types::params::recurrent::{
    GruParams, LOG_LOSS_LIMIT, LossHead, NEGLIGIBLE_PROBABILITY, RolloutParams, Stochastic,
};

use super::cell::{load, store};
use crate::{
    linalg::vmath::exp,
    simd::{LaneKernel, floats::Floats},
};

/// The composition of a combined state.
#[derive(Clone, Copy)]
pub(super) struct StateComposition {
    pub(super) hidden: u64,
    pub(super) stochastic: u64,
    pub(super) part: Stochastic,
}

impl StateComposition {
    /// The state that element `i` of a softmax is taken of.
    #[inline(always)]
    pub(super) fn state_of(&self, i: usize) -> usize {
        (i as u64 * self.hidden / self.stochastic) as usize
    }

    /// Adds the second part to the combined state, whose first part is there.
    ///
    /// Returns the product of the combined state with `weights`, and its entropy.
    #[inline(always)]
    pub(super) fn combine<L: Floats>(&self, l: L, weights: &[f32], combined: &mut [f32]) -> (f32, f32) {
        let (h, part) = combined.split_at_mut(self.hidden as usize);
        let mut entropy = 0.0;
        match self.part {
            Stochastic::StridedSoftmax => {
                for (i, logit) in part.iter_mut().enumerate() {
                    *logit = h[self.state_of(i)];
                }
                entropy = softmax(l, part);
            }
            Stochastic::CopyHidden => part.copy_from_slice(h),
            Stochastic::Zeros => part.fill(0.0),
        }
        // Weights of zeros count for nothing, whatever they are.
        let read = if self.part == Stochastic::Zeros { self.hidden as usize } else { combined.len() };
        let (combined, weights, mut sum) = (&combined[..read], &weights[..read], l.splat(0.0));
        for at in (0..read).step_by(L::N) {
            sum = l.mul_add(load(l, &combined[at..]), load(l, &weights[at..]), sum);
        }
        (l.sum(sum), entropy)
    }
}

/// The loss that is read from the product of the head's weights with a combined state.
#[inline(always)]
pub(super) fn read<L: Floats>(l: L, head: LossHead, dot: f32) -> f32 {
    match head {
        LossHead::Linear => dot,
        LossHead::ExpClamped => of_scalar(l, dot.clamp(-LOG_LOSS_LIMIT, LOG_LOSS_LIMIT)),
    }
}

/// Transformations of states before they are read.
#[derive(Clone, Copy)]
pub(super) struct StateTransform<'a> {
    pub(super) params: &'a RolloutParams,
    /// Factors and addends of a normalised state.
    pub(super) norm: Option<[&'a [f32]; 2]>,
}

impl StateTransform<'_> {
    /// Changes the state in `h`, the first of whose elements has the index `first`.
    #[inline(always)]
    fn apply<L: Floats>(&self, l: L, first: u64, h: &mut [f32]) {
        if let Some([gamma, beta]) = self.norm {
            let n = h.len() as f32;
            // The mean, then the squares of the distances from it.
            let mut sum = l.splat(0.0);
            for at in (0..h.len()).step_by(L::N) {
                sum = l.add(sum, load(l, &h[at..]));
            }
            let mean = l.sum(sum) / n;
            let (mut rest, mut squares) = (l.splat(0.0), l.splat(0.0));
            for at in (0..h.len()).step_by(L::N) {
                let h = &h[at..];
                let d = l.sub(if h.len() >= L::N { l.load(h) } else { l.load_partial(h, mean) }, l.splat(mean));
                (rest, squares) = (l.add(rest, d), l.mul_add(d, d, squares));
            }
            // The rounding of the mean shows as the mean of the residuals.
            let rest = l.sum(rest) / n;
            let variance = rest.mul_add(-rest, l.sum(squares) / n);
            let unit = 1.0 / (if variance < 0.0 { 0.0 } else { variance } + self.params.eps).sqrt(); // NaN stays
            // Normalised states with their factors and addends.
            for (at, (gamma, beta)) in gamma.chunks(L::N).zip(beta.chunks(L::N)).enumerate() {
                let h = &mut h[at * L::N..];
                let d = l.mul(l.sub(l.sub(load(l, h), l.splat(mean)), l.splat(rest)), l.splat(unit));
                store(l, h, l.mul_add(d, load(l, gamma), load(l, beta)));
            }
        }
        // Dropout takes elements out by their indices.
        let mask = &self.params.mask;
        if mask.threshold > 0 {
            h.iter_mut().zip(first..).for_each(|(h, index)| *h = mask.apply(index, *h));
        }
    }
}

/// Makes the combined states of some rows, their losses, and adds to their entropies.
pub(super) struct Head<'a> {
    pub(super) view: StateTransform<'a>,
    /// The index of the first state of the first row.
    pub(super) first: u64,
    pub(super) weights: &'a [f32],
    pub(super) h: &'a [f32],
    pub(super) combined: &'a mut [f32],
    pub(super) losses: &'a mut [f32],
    pub(super) entropy: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for Head<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let &RolloutParams { gru: GruParams { hidden, .. }, stochastic, part, head, .. } = self.view.params;
        let form = StateComposition { hidden, stochastic, part };
        let rows = self.losses.iter_mut().zip(self.entropy).zip(self.h.chunks_exact(hidden as usize));
        let rows = rows.zip(self.combined.chunks_exact_mut(self.weights.len()));
        for ((((loss, entropy), h), combined), first) in rows.zip((self.first..).step_by(hidden as usize)) {
            combined[..h.len()].copy_from_slice(h);
            self.view.apply(l, first, &mut combined[..h.len()]);
            let (dot, of_step) = form.combine(l, self.weights, combined);
            *entropy += of_step;
            *loss = read(l, head, dot);
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
