//! Parameters of gated recurrent units and of rollouts with them.

use core::fmt::Debug;

use bytemuck::NoUninit;

use crate::{
    params::sizes::{Sizes, sizes},
    philox,
};

/// Where a gated recurrent unit resets its state.
///
/// It is before the product with U (Cho et al., arXiv 1406.1078v3), or after it, as in cuDNN and
/// PyTorch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum GruVariant {
    /// `c = tanh(x W_c + b_c + (r h) U_c)`.
    #[default]
    ResetBefore,
    /// `c = tanh(x W_c + b_c + r (h U_c + bu))`.
    ResetAfter,
}

/// Which inputs the members of an ensemble see at which step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum GruInputs {
    /// A sequence for all members, `[steps, batch, input]`.
    #[default]
    Sequence,
    /// A sequence for each member, `[members, steps, batch, input]`.
    MemberSequences,
    /// The same at every step, for all members: `[batch, input]`.
    Constant,
    /// The same at every step, for each member: `[members, batch, input]`.
    MemberConstants,
}

impl GruInputs {
    /// Every form.
    pub const ALL: [Self; 4] = [Self::Sequence, Self::MemberSequences, Self::Constant, Self::MemberConstants];

    /// Whether a member sees the same at every step.
    #[inline]
    #[must_use]
    pub const fn is_constant(self) -> bool {
        matches!(self, Self::Constant | Self::MemberConstants)
    }

    /// Whether each member has separate inputs.
    #[inline]
    #[must_use]
    pub const fn is_per_member(self) -> bool {
        matches!(self, Self::MemberSequences | Self::MemberConstants)
    }
}

/// An ensemble of gated recurrent units, each run over a batch for a number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct GruParams {
    /// Units of the ensemble, each with separate weights.
    pub members: u64,
    /// Independent rows.
    pub batch: u64,
    /// Steps in time.
    pub steps: u64,
    /// Features of an input.
    pub input: u64,
    /// Features of a state.
    pub hidden: u64,
    /// Where the state is reset.
    pub variant: GruVariant,
    /// The form of the inputs.
    pub inputs: GruInputs,
}

sizes!(GruParams { members, batch, steps, input, hidden, variant, inputs });

impl GruParams {
    /// The axes of the inputs, outermost first; an axis that is not there has length 1.
    #[inline]
    #[must_use]
    pub const fn input_shape(&self) -> [u64; 4] {
        let members = if self.inputs.is_per_member() { self.members } else { 1 };
        let steps = if self.inputs.is_constant() { 1 } else { self.steps };
        [members, steps, self.batch, self.input]
    }

    /// The row of the inputs for row `row` of member `member` at step `step`.
    ///
    /// A row has `input` features. The caller has checked that the number of inputs does not
    /// overflow.
    #[inline]
    #[must_use]
    pub const fn input_row(&self, member: u64, step: u64, row: u64) -> u64 {
        let [_, steps, batch, _] = self.input_shape();
        let member = if self.inputs.is_per_member() { member } else { 0 };
        let step = if self.inputs.is_constant() { 0 } else { step };
        member.wrapping_mul(steps).wrapping_add(step).wrapping_mul(batch).wrapping_add(row)
    }
}

/// Matrices that a forward pass saves for the backward pass.
///
/// They are z, r, c, the state before the step, and `r h`, or `h U_c + bu` with the reset after the
/// product.
pub const GRU_SAVED: u64 = 5;

/// Feedback of a rollout to the features of the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum Feedback {
    /// The loss that the member predicts, as the first feature.
    #[default]
    PerMember,
    /// The mean of the losses that all members predict, as the first feature.
    EnsembleMean,
    /// Nothing: all features are given, for each step or once for all.
    None,
    /// The state as it is read; a linear map computes all features from it.
    State,
}

impl Feedback {
    /// Every form.
    pub const ALL: [Self; 4] = [Self::PerMember, Self::EnsembleMean, Self::None, Self::State];
}

/// The second part of the state that the loss is read from, made of the first, h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum Stochastic {
    /// The softmax of `stochastic` states; element i takes state `floor(i hidden / stochastic)`.
    #[default]
    StridedSoftmax,
    /// A copy of h.
    CopyHidden,
    /// Zeros.
    Zeros,
}

/// How a loss is read from the combined state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum LossHead {
    /// The exponential of the scalar product with the head's weights.
    ///
    /// The product is first clamped to `-10..=10`; NaN stays.
    #[default]
    ExpClamped,
    /// The scalar product.
    Linear,
}

/// A rollout of an ensemble of gated recurrent units, predicting losses.
///
/// The feedback defines the results of a step from which the features of the next step are made.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct RolloutParams {
    /// The ensemble, with at least one input feature.
    ///
    /// Its inputs form a sequence only if nothing is fed back.
    pub gru: GruParams,
    /// Elements of the second part of the combined state.
    pub stochastic: u64,
    /// What they are.
    pub part: Stochastic,
    /// How losses are read.
    pub head: LossHead,
    /// The feedback.
    pub feedback: Feedback,
    /// Added to the variance of a state that is normalised before it is read.
    ///
    /// It is greater than 0 if states are normalised.
    pub eps: f32,
    /// Which elements of the states are dropped before they are read.
    pub mask: StateMask,
}

/// Seeded dropout of states before they are read.
///
/// Element j of row b of member e after step t is kept if word
/// `((e steps + t) batch + b) hidden + j` of the Philox sequence of seed, site and step is at least
/// `threshold`. Without steps, the mask is the mask of one step.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct StateMask {
    /// Key of the generator.
    pub seed: u64,
    /// The drop probability as `floor(p 2^32)`, at most `2^32`; 0 drops nothing.
    pub threshold: u64,
    /// Which dropout of the network this is.
    pub site: u32,
    /// Which training step this is.
    pub step: u32,
    /// Factor of kept elements, 1 / (1 - p).
    pub scale: f32,
    /// Zero.
    pub reserved: u32,
}

impl StateMask {
    /// Keeps everything.
    pub const NONE: Self = Self { seed: 0, threshold: 0, site: 0, step: 0, scale: 1.0, reserved: 0 };

    /// Element `index` with value `x`, kept or dropped.
    #[inline]
    #[must_use]
    pub const fn apply(&self, index: u64, x: f32) -> f32 {
        if self.threshold == 0 {
            return x;
        }
        let [a, b, c, d] = philox::block(self.seed, self.site, self.step, index / 4);
        let (even, odd) = if index % 4 < 2 { (a, b) } else { (c, d) };
        let word = if index.is_multiple_of(2) { even } else { odd };
        if word as u64 >= self.threshold { x * self.scale } else { 0.0 }
    }
}

impl RolloutParams {
    /// The index of the first state of a row after step `step`.
    ///
    /// The array holds all members, steps and rows.
    #[inline]
    #[must_use]
    pub const fn state_index(&self, member: u64, step: u64, row: u64) -> u64 {
        let steps = if self.gru.steps == 0 { 1 } else { self.gru.steps };
        let step = member.wrapping_mul(steps).wrapping_add(step);
        step.wrapping_mul(self.gru.batch).wrapping_add(row).wrapping_mul(self.gru.hidden)
    }
}

impl Sizes for RolloutParams {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        self.gru.each_size(name, see);
        see("stochastic", &self.stochastic);
        see("part", &self.part);
        see("head", &self.head);
        see("feedback", &self.feedback);
    }
}

/// Definition of the error of a predicted loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum LossError {
    /// The predicted loss less the one that was seen.
    #[default]
    OfLosses,
    /// The same of their logarithms, which a linear head does not have.
    OfLogarithms,
}

/// How far predicted losses lie from those that were seen.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct RssmLossParams {
    /// Members of the ensemble.
    pub members: u64,
    /// Rows of a member: steps times batch.
    pub rows: u64,
    /// Features of a state.
    pub hidden: u64,
    /// Elements of the second part of the combined state.
    pub stochastic: u64,
    /// What they are.
    pub part: Stochastic,
    /// How losses are read.
    pub head: LossHead,
    /// What an error is.
    pub error: LossError,
    /// The definition of an error.
    pub scale: f32,
    /// 1 if each member has separate target losses, 0 if all have the same.
    pub own_targets: u32,
    /// Zero.
    pub reserved: u32,
}

sizes!(RssmLossParams { members, rows, hidden, stochastic, part, head, error, own_targets });

impl RssmLossParams {
    /// The slope and the value of the clamp at the product `dot` of the head; NaN stays.
    ///
    /// The loss is read from the clamped product.
    #[inline]
    #[must_use]
    pub fn held(&self, dot: f32) -> (f32, f32) {
        let beyond = dot.abs() > LOG_LOSS_LIMIT; // NaN is not
        match self.head {
            LossHead::Linear => (1.0, dot),
            LossHead::ExpClamped if beyond => (0.0, if dot > 0.0 { LOG_LOSS_LIMIT } else { -LOG_LOSS_LIMIT }),
            LossHead::ExpClamped => (1.0, dot),
        }
    }
}

/// Greatest magnitude of the logarithm of a loss.
pub const LOG_LOSS_LIMIT: f32 = 10.0;

/// Probabilities up to this one count for nothing in an entropy.
pub const NEGLIGIBLE_PROBABILITY: f32 = 1e-8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_inputs_are_counted_along_the_axes_that_there_are() {
        let of = |inputs| GruParams {
            members: 2,
            batch: 3,
            steps: 4,
            input: 5,
            hidden: 6,
            variant: GruVariant::ResetBefore,
            inputs,
        };
        let rows = GruInputs::ALL.map(|inputs| (of(inputs).input_shape(), of(inputs).input_row(1, 2, 1)));
        assert_eq!(rows, [([1, 4, 3, 5], 7), ([2, 4, 3, 5], 19), ([1, 1, 3, 5], 1), ([2, 1, 3, 5], 4)]);
    }

    #[test]
    fn losses_are_clamped_beyond_the_limit_and_have_no_slope_there() {
        let of = |head| RssmLossParams {
            members: 1,
            rows: 1,
            hidden: 1,
            stochastic: 0,
            part: Stochastic::Zeros,
            head,
            error: LossError::OfLosses,
            scale: 1.0,
            own_targets: 0,
            reserved: 0,
        };
        let [clamped, linear] = [LossHead::ExpClamped, LossHead::Linear].map(of);
        for dot in [0.0, -3.0, LOG_LOSS_LIMIT, -LOG_LOSS_LIMIT] {
            assert_eq!(clamped.held(dot), (1.0, dot));
        }
        assert_eq!([10.5, -10.5].map(|dot| clamped.held(dot)), [(0.0, LOG_LOSS_LIMIT), (0.0, -LOG_LOSS_LIMIT)]);
        assert_eq!(linear.held(-10.5), (1.0, -10.5));
        assert!(clamped.held(f32::NAN).1.is_nan());
    }
}
