//! The configuration of an optimizer.

use core_types::params::optim::{AdamParams, AdvanceParams, Anneal, ScheduleParams, SgdParams};

use crate::error::{NnError, Result};

const OP: &str = "optimizer";
/// Requirements on numbers, as errors state them.
const FINITE: &str = "finite in f32";
const LEAST: &str = "0 or more, and finite in f32";
const SHARE: &str = "at least 0 and less than 1";

/// The update rule of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Stochastic gradient descent, as PyTorch's `SGD` without dampening.
    ///
    /// `v = momentum v + g`, and a step along v, or along `g + momentum v` in Nesterov's form.
    Sgd {
        /// Share of the running sum of gradients that a step keeps, in `0..1`.
        momentum: f64,
        /// Whether to step along Nesterov's direction.
        nesterov: bool,
    },
    /// Adam (Kingma, Ba, 2015): a step along `m / (sqrt(v) + eps)`.
    ///
    /// Both moments are corrected for having begun as zeros.
    Adam {
        /// Share of the first moment that a step keeps, in `0..1`.
        beta1: f64,
        /// Share of the second moment that a step keeps, in `0..1`.
        beta2: f64,
        /// Added to the root of the second moment; greater than 0.
        eps: f64,
    },
}

/// How weights decay, by a part of 0 or more.
///
/// Tensors made [`without_decay`](crate::ParameterSpec::without_decay) do not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WeightDecay {
    /// No decay.
    None,
    /// A step also subtracts this part of each weight, times the rate.
    ///
    /// AdamW (Loshchilov, Hutter, "Decoupled Weight Decay Regularization", 2019).
    Decoupled(f64),
    /// A step adds this part of each weight to its gradient.
    ///
    /// This is the penalty of squares in PyTorch's `SGD` and `Adam`.
    Coupled(f64),
}

/// How the rate changes after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Annealing {
    /// A constant rate.
    Constant,
    /// It falls to `least` linearly over `steps` steps.
    Linear {
        /// Steps from the greatest rate to the least; 1 or more.
        steps: u64,
        /// The rate from then on.
        least: f64,
    },
    /// It falls to `least` along half a period of a cosine over `steps` steps.
    ///
    /// Loshchilov, Hutter, "SGDR", 2017.
    Cosine {
        /// Steps from the greatest rate to the least; 1 or more.
        steps: u64,
        /// The rate from then on.
        least: f64,
    },
    /// It is multiplied by `factor` after every `every` steps.
    Steps {
        /// Steps from one multiplication to the next; 1 or more.
        every: u64,
        /// The factor of the rate, in `0..=1`.
        factor: f64,
    },
}

/// The rate as a function of the step.
///
/// The device computes it, so that recorded steps follow it too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// The greatest rate; 0 or more, as is every other.
    pub rate: f64,
    /// Steps over which the rate rises linearly to its greatest value.
    ///
    /// Step t of them, from 1 on, has `t / warmup` of it.
    pub warmup: u64,
    /// The schedule after the warm-up.
    pub annealing: Annealing,
}

impl Schedule {
    /// A constant rate, without a warm-up.
    #[must_use]
    pub const fn constant(rate: f64) -> Self {
        Self { rate, warmup: 0, annealing: Annealing::Constant }
    }

    /// The rate of a step, counted from 1.
    ///
    /// ```
    /// use nn_ops::{Annealing, Schedule};
    ///
    /// let schedule = Schedule { rate: 1.0, warmup: 4, annealing: Annealing::Cosine { steps: 10, least: 0.0 } };
    /// assert_eq!([1, 4].map(|step| schedule.rate(step)), [0.25, 1.0]);
    /// assert!((schedule.rate(9) - 0.5).abs() < 1e-12 && schedule.rate(14) == 0.0);
    /// ```
    #[must_use]
    pub fn rate(&self, step: u64) -> f64 {
        self.params().rate(step)
    }

    fn params(&self) -> ScheduleParams {
        let &Self { rate, warmup, annealing } = self;
        let (anneal, period, least, factor) = match annealing {
            Annealing::Constant => (Anneal::Constant, 1, rate, 1.0),
            Annealing::Linear { steps, least } => (Anneal::Linear, steps, least, 1.0),
            Annealing::Cosine { steps, least } => (Anneal::Cosine, steps, least, 1.0),
            Annealing::Steps { every, factor } => (Anneal::Steps, every, rate, factor),
        };
        ScheduleParams { rate, least, factor, warmup, period, anneal, reserved: 0 }
    }
}

/// A loss scale that is adapted while training.
///
/// Small gradients would vanish in f16, so losses are multiplied by a number that grows until
/// gradients overflow (Micikevicius et al., "Mixed Precision Training", 2018; PyTorch's
/// `GradScaler`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossScale {
    /// The first scale.
    pub initial: f32,
    /// The factor of the scale after `interval` steps in a row with finite gradients; 1 or more.
    pub growth: f32,
    /// The factor of the scale when a gradient is not finite, in `0..1`. That step is left out.
    pub backoff: f32,
    /// See `growth`; 1 or more.
    pub interval: u32,
}

impl Default for LossScale {
    /// 2^16, doubled after 2000 steps and halved at once.
    fn default() -> Self {
        Self { initial: 65_536.0, growth: 2.0, backoff: 0.5, interval: 2000 }
    }
}

/// The configuration of an [`Optimizer`](crate::Optimizer).
///
/// The gradients' norm is measured if there is a limit or a loss scale. Steps whose gradients are
/// then not finite are left out; otherwise they spoil the weights. An infinite limit measures and
/// holds nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimizerConfig {
    /// The direction of a step.
    pub rule: Rule,
    /// The learning rate by step.
    pub schedule: Schedule,
    /// How weights decay.
    pub decay: WeightDecay,
    /// The limit of the joint norm of all gradients.
    ///
    /// Gradients of a greater norm are multiplied by `clip / (norm + 10^-6)`, as PyTorch's
    /// `clip_grad_norm_` does.
    pub clip: Option<f64>,
    /// The loss scale, for gradients that pass through f16.
    pub loss_scale: Option<LossScale>,
}

impl OptimizerConfig {
    /// Gradient descent at a constant rate, without decay.
    #[must_use]
    pub const fn sgd(rate: f64, momentum: f64) -> Self {
        Self::new(Rule::Sgd { momentum, nesterov: false }, rate, WeightDecay::None)
    }

    /// Adam at a constant rate, without decay, as in PyTorch and RSI-ML.
    ///
    /// The shares are 0.9 and 0.999, and `eps` is 10^-8.
    #[must_use]
    pub const fn adam(rate: f64) -> Self {
        Self::new(Rule::Adam { beta1: 0.9, beta2: 0.999, eps: 1e-8 }, rate, WeightDecay::None)
    }

    /// [`adam`](Self::adam) with a decoupled decay of 0.01: PyTorch's `AdamW`.
    #[must_use]
    pub const fn adam_w(rate: f64) -> Self {
        Self { decay: WeightDecay::Decoupled(0.01), ..Self::adam(rate) }
    }

    const fn new(rule: Rule, rate: f64, decay: WeightDecay) -> Self {
        Self { rule, schedule: Schedule::constant(rate), decay, clip: None, loss_scale: None }
    }

    /// Whether steps need the norm of the gradients.
    pub(super) fn measures(&self) -> bool {
        self.clip.is_some() || self.loss_scale.is_some()
    }

    /// Checks the hyper-parameters, also after rounding to the f32 of the steps.
    ///
    /// [`Optimizer::new`](crate::Optimizer::new) calls it.
    ///
    /// # Errors
    /// [`NnError::Parameter`] names the first hyper-parameter outside its domain.
    pub fn check(&self) -> Result<()> {
        let finite = |x: f64| (x as f32).is_finite();
        let share = |x: f64| (0.0..1.0).contains(&x);
        let least = |x: f64| x >= 0.0 && finite(x);
        // The rate and the numbers of the rule.
        let mut rules = vec![("rate", LEAST, self.schedule.rate, least(self.schedule.rate))];
        match self.rule {
            Rule::Sgd { momentum, .. } => {
                let below = (momentum as f32) < 1.0;
                rules.push(("momentum", "at least 0 and less than 1 in f32", momentum, share(momentum) && below));
            }
            Rule::Adam { beta1, beta2, eps } => rules.extend([
                ("beta1", SHARE, beta1, share(beta1)),
                ("beta2", SHARE, beta2, share(beta2)),
                ("eps", "positive and finite in f32", eps, finite(eps) && (eps as f32) > 0.0),
            ]),
        }
        // The annealing.
        match self.schedule.annealing {
            Annealing::Constant => {}
            Annealing::Linear { steps, least: lowest } | Annealing::Cosine { steps, least: lowest } => rules.extend([
                ("steps", "1 or more", steps as f64, steps > 0),
                ("least rate", LEAST, lowest, least(lowest)),
            ]),
            Annealing::Steps { every, factor } => rules.extend([
                ("steps", "1 or more", every as f64, every > 0),
                ("factor", "in 0..=1", factor, (0.0..=1.0).contains(&factor)),
            ]),
        }
        // Products that the record rounds to f32.
        let rate = self.schedule.rate;
        if let Rule::Adam { beta1, .. } = self.rule {
            rules.push(("rate / (1 - beta1)", FINITE, rate / (1.0 - beta1), finite(rate / (1.0 - beta1))));
        }
        if let WeightDecay::Decoupled(decay) = self.decay {
            rules.push(("rate times decay", FINITE, rate * decay, finite(rate * decay)));
        }
        // The decay, the limit of the norm and the loss scale.
        match self.decay {
            WeightDecay::None => {}
            WeightDecay::Decoupled(decay) | WeightDecay::Coupled(decay) => {
                rules.push(("decay", LEAST, decay, least(decay)));
            }
        }
        rules.extend(self.clip.map(|clip| ("clip", "greater than 0", clip, clip > 0.0)));
        if let Some(LossScale { initial, growth, backoff, interval }) = self.loss_scale {
            rules.extend([
                ("loss scale", "a normal number above 0", initial.into(), initial > 0.0 && initial.is_normal()),
                ("growth", "at least 1 and finite", growth.into(), growth >= 1.0 && growth.is_finite()),
                ("backoff", "greater than 0 and less than 1", backoff.into(), backoff > 0.0 && backoff < 1.0),
                ("interval", "1 or more", interval.into(), interval > 0),
            ]);
        }
        // The first number outside its domain is reported.
        match rules.iter().find(|(.., holds)| !holds) {
            None => Ok(()),
            Some(&(name, domain, value, _)) => Err(NnError::parameter(OP, name, domain, value)),
        }
    }

    /// How the record goes from step to step.
    pub(super) fn advance(&self) -> AdvanceParams {
        let (beta1, beta2) = match self.rule {
            Rule::Sgd { .. } => (0.0, 0.0),
            Rule::Adam { beta1, beta2, .. } => (beta1, beta2),
        };
        let scale = self.loss_scale.unwrap_or_default();
        AdvanceParams {
            schedule: self.schedule.params(),
            beta1,
            beta2,
            decay: if let WeightDecay::Decoupled(decay) = self.decay { decay } else { 0.0 },
            clip: self.clip.unwrap_or(f64::INFINITY),
            growth: scale.growth,
            backoff: scale.backoff,
            interval: self.loss_scale.map_or(0, |scale| scale.interval),
            reserved: 0,
        }
    }

    /// The parameters of the elements' step; the first `decayed` elements decay.
    pub(super) fn step(&self, decayed: usize) -> StepParams {
        let coupled = if let WeightDecay::Coupled(decay) = self.decay { decay as f32 } else { 0.0 };
        let decayed = decayed as u64;
        match self.rule {
            Rule::Sgd { momentum, nesterov } => StepParams::Sgd(SgdParams {
                decayed,
                momentum: momentum as f32,
                coupled,
                nesterov: nesterov.into(),
                reserved: 0,
            }),
            Rule::Adam { beta1, beta2, eps } => StepParams::Adam(AdamParams {
                decayed,
                rest1: (1.0 - beta1) as f32,
                rest2: (1.0 - beta2) as f32,
                eps: eps as f32,
                coupled,
            }),
        }
    }
}

/// The parameters of the op of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StepParams {
    Sgd(SgdParams),
    Adam(AdamParams),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_make_no_step_are_refused_by_name() {
        let adam = OptimizerConfig::adam_w(1e-3);
        assert_eq!(adam.check(), Ok(()));
        let refused = |config: OptimizerConfig| match config.check() {
            Err(NnError::Parameter { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        let rule = |beta1, beta2, eps| refused(OptimizerConfig { rule: Rule::Adam { beta1, beta2, eps }, ..adam });
        assert_eq!(rule(1.0, 0.9, 1e-8), "beta1");
        assert_eq!(rule(0.9, -0.1, 1e-8), "beta2");
        assert_eq!([rule(0.9, 0.9, 0.0), rule(0.9, 0.9, 1e-60)], ["eps"; 2]);
        assert_eq!([f64::NAN, 1e39, -0.1].map(|rate| refused(OptimizerConfig::sgd(rate, 0.0))), ["rate"; 3]);
        assert_eq!([1.0, 1.0 - 1e-12].map(|momentum| refused(OptimizerConfig::sgd(0.1, momentum))), ["momentum"; 2]);
        let annealed =
            |annealing| refused(OptimizerConfig { schedule: Schedule { rate: 1.0, warmup: 0, annealing }, ..adam });
        assert_eq!(annealed(Annealing::Linear { steps: 0, least: 0.0 }), "steps");
        assert_eq!(annealed(Annealing::Cosine { steps: 1, least: f64::INFINITY }), "least rate");
        assert_eq!(annealed(Annealing::Steps { every: 0, factor: 0.5 }), "steps");
        assert_eq!([f64::NAN, -0.5, 1.5].map(|factor| annealed(Annealing::Steps { every: 1, factor })), ["factor"; 3]);
        assert_eq!(annealed(Annealing::Linear { steps: 1, least: -1.0 }), "least rate");
        let decays = [WeightDecay::Coupled(f64::NAN), WeightDecay::Coupled(1e39), WeightDecay::Decoupled(-0.1)];
        assert_eq!(decays.map(|decay| refused(OptimizerConfig { decay, ..adam })), ["decay"; 3]);
        let decay = WeightDecay::Decoupled(1e30);
        assert_eq!(refused(OptimizerConfig { decay, ..OptimizerConfig::sgd(1e30, 0.0) }), "rate times decay");
        let (rule, schedule) = (Rule::Adam { beta1: 1.0 - 1e-15, beta2: 0.9, eps: 1e-8 }, Schedule::constant(1e30));
        assert_eq!(refused(OptimizerConfig { rule, schedule, ..adam }), "rate / (1 - beta1)");
        assert_eq!(refused(OptimizerConfig { clip: Some(0.0), ..adam }), "clip");
        let scaled = |scale: LossScale| refused(OptimizerConfig { loss_scale: Some(scale), ..adam });
        let scale = LossScale::default();
        assert_eq!(scaled(LossScale { initial: 0.0, ..scale }), "loss scale");
        assert_eq!(scaled(LossScale { growth: 0.5, ..scale }), "growth");
        let constant = OptimizerConfig { loss_scale: Some(LossScale { growth: 1.0, ..scale }), ..adam };
        assert_eq!(constant.check(), Ok(()));
        assert_eq!(scaled(LossScale { backoff: 1.0, ..scale }), "backoff");
        assert_eq!(scaled(LossScale { interval: 0, ..scale }), "interval");
    }
}
