//! Recurrences of optimizers in f64, one weight at a time.

use nn_ops::{Annealing, Rule, Schedule, WeightDecay};

/// A weight with its optimizer state.
#[derive(Clone, Copy)]
pub(super) struct WeightState {
    pub(super) w: f64,
    pub(super) m: f64,
    pub(super) v: f64,
    pub(super) decays: bool,
}

impl WeightState {
    pub(super) fn new(w: f32, decays: bool) -> Self {
        Self { w: w.into(), m: 0.0, v: 0.0, decays }
    }

    /// Applies step `t`, from 1 on, along `g`.
    ///
    /// It follows PyTorch's documentation of `SGD`, `Adam` and `AdamW`.
    pub(super) fn step(&mut self, rule: Rule, decay: WeightDecay, rate: f64, t: i32, g: f64) {
        let mut g = g;
        match decay {
            WeightDecay::Decoupled(part) if self.decays => self.w -= rate * part * self.w,
            WeightDecay::Coupled(part) if self.decays => g += part * self.w,
            WeightDecay::None | WeightDecay::Decoupled(_) | WeightDecay::Coupled(_) => {}
        }
        match rule {
            Rule::Sgd { momentum, nesterov } => {
                self.v = momentum * self.v + g;
                self.w -= rate * if nesterov { g + momentum * self.v } else { self.v };
            }
            Rule::Adam { beta1, beta2, eps } => {
                self.m = beta1 * self.m + (1.0 - beta1) * g;
                self.v = beta2 * self.v + (1.0 - beta2) * g * g;
                let (mean, square) = (self.m / (1.0 - beta1.powi(t)), self.v / (1.0 - beta2.powi(t)));
                self.w -= rate * mean / (square.sqrt() + eps);
            }
        }
    }
}

/// The rate of step `t`, from 1 on.
pub(super) fn rate(schedule: Schedule, t: u64) -> f64 {
    let Schedule { rate, warmup, annealing } = schedule;
    if t <= warmup {
        return rate * t as f64 / warmup as f64;
    }
    let since = t - warmup.max(1);
    let part = |steps: u64| (since as f64 / steps as f64).min(1.0);
    match annealing {
        Annealing::Constant => rate,
        Annealing::Linear { steps, least } => rate * (1.0 - part(steps)) + least * part(steps),
        Annealing::Cosine { steps, least } => {
            least + (rate - least) * (1.0 + (core::f64::consts::PI * part(steps)).cos()) / 2.0
        }
        Annealing::Steps { every, factor } => rate * factor.powf((since / every) as f64),
    }
}
