//! The state of Adam for one parameter.

use core::fmt;

use core_types::params::optim::{AdamParams, AdvanceParams, Anneal, ScheduleParams, StepState};
use nn_ops::{OptimizerConfig, Rule, WeightDecay};
use runtime::{AnyBuf, AnyQueue};

use crate::{error::Result, tag::Tag};

/// The numbers of a step of Adam or AdamW.
///
/// Kingma, Ba, "Adam", 2015, algorithm 1; Loshchilov, Hutter, "Decoupled Weight Decay
/// Regularization", 2019. `eps` is added outside the root, and both moments are corrected for their
/// start at zero, as in RSI-ML.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamOptions {
    /// The rate; 0 or more.
    pub rate: f64,
    /// Share of the first moment that a step keeps, in `0..1`.
    pub beta1: f64,
    /// Share of the second moment that a step keeps, in `0..1`.
    pub beta2: f64,
    /// Added to the root of the second moment; greater than 0.
    pub eps: f64,
    /// Part of each weight that a step subtracts, times the rate; 0 for Adam, more for AdamW.
    pub decay: f64,
}

impl Default for AdamOptions {
    /// Adam with a rate of 0.001, shares of 0.9 and 0.999, and an `eps` of 10^-8.
    fn default() -> Self {
        Self { rate: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.0 }
    }
}

/// The moments and the number of steps of one parameter.
///
/// The moments lie on the device of the last step.
pub struct AdamState {
    len: usize,
    advance: AdvanceParams,
    params: AdamParams,
    /// The record of the last step.
    pub(crate) record: StepState,
    pub(crate) moments: Option<Moments>,
}

/// Both moments on a device.
pub(crate) struct Moments {
    pub(crate) tag: Tag,
    pub(crate) queue: AnyQueue,
    pub(crate) m: AnyBuf<f32>,
    pub(crate) v: AnyBuf<f32>,
}

impl AdamState {
    /// The state before the first step of a parameter of `len` weights.
    ///
    /// # Errors
    /// [`DispatchError::Op`](crate::DispatchError::Op) with
    /// [`NnError::Parameter`](nn_ops::NnError::Parameter) for a number outside its domain.
    pub fn new(len: usize, options: AdamOptions) -> Result<Self> {
        let AdamOptions { rate, beta1, beta2, eps, decay } = options;
        let rule = Rule::Adam { beta1, beta2, eps };
        let config = OptimizerConfig { rule, decay: WeightDecay::Decoupled(decay), ..OptimizerConfig::adam(rate) };
        config.check()?;
        let anneal = Anneal::Constant;
        let schedule = ScheduleParams { rate, least: rate, factor: 1.0, warmup: 0, period: 1, anneal, reserved: 0 };
        let advance = AdvanceParams {
            schedule,
            beta1,
            beta2,
            decay,
            clip: f64::INFINITY,
            growth: 1.0,
            backoff: 1.0,
            interval: 0,
            reserved: 0,
        };
        let (rest1, rest2) = ((1.0 - beta1) as f32, (1.0 - beta2) as f32);
        let params = AdamParams { decayed: len as u64, rest1, rest2, eps: eps as f32, coupled: 0.0 };
        Ok(Self { len, advance, params, record: StepState::new(1.0), moments: None })
    }

    /// Number of weights.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no weights.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of steps taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.record.step
    }

    pub(crate) fn params(&self) -> AdamParams {
        self.params
    }

    /// The record of the next step.
    pub(crate) fn next_record(&self) -> StepState {
        self.advance.advance(self.record, None, f64::sqrt)
    }
}

impl fmt::Debug for AdamState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdamState").field("len", &self.len).field("steps", &self.steps()).finish_non_exhaustive()
    }
}
