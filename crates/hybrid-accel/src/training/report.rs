//! How a training by predictions went.

use std::fmt;

/// A forecast of the losses of a phase that was then trained with gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForecastCheck {
    /// The step before the phase.
    pub step: u64,
    /// Root mean squared error of the forecast.
    pub error: f64,
    /// The same error if the mean of the last eight losses before the phase is the forecast.
    pub constant_error: f64,
}

/// Losses whose mean is the constant forecast.
const RECENT: usize = 8;

impl ForecastCheck {
    /// Compares the forecast `mean`, whose first element is the loss before, with what came.
    pub(super) fn new(step: u64, mean: &[f64], before: &[f64], after: &[f64]) -> Self {
        let recent = &before[before.len().saturating_sub(RECENT)..];
        let constant = recent.iter().sum::<f64>() / recent.len().max(1) as f64;
        let root = |squares: f64| (squares / after.len().max(1) as f64).sqrt();
        let square = |forecast: f64, loss: f64| (forecast - loss) * (forecast - loss);
        Self {
            step,
            error: root(mean.iter().skip(1).zip(after).map(|(&forecast, &loss)| square(forecast, loss)).sum()),
            constant_error: root(after.iter().map(|&loss| square(constant, loss)).sum()),
        }
    }

    /// Whether the constant forecast was at least as good.
    #[must_use]
    pub fn is_worse_than_constant(&self) -> bool {
        // A forecast that is not a number is no better.
        !matches!(self.error.partial_cmp(&self.constant_error), Some(std::cmp::Ordering::Less))
    }
}

/// A predicted move of all weights that was kept. Losses are of the probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jump {
    /// The step before it.
    pub step: u64,
    /// Steps that it saved.
    pub steps: usize,
    /// The loss before it.
    pub before: f64,
    /// The loss forecast for the steps that it saved.
    pub forecast: f64,
    /// That forecast, corrected by how earlier ones in similar states came out.
    pub corrected: f64,
    /// The loss after it.
    pub observed: f64,
    /// Whether residuals of weights were applied.
    pub has_residuals: bool,
}

/// The steps, forecasts and jumps of a [`HybridLoop`](crate::HybridLoop).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HybridReport {
    /// Steps in all, with gradients and saved.
    pub steps: usize,
    /// Steps with gradients.
    pub full_steps: usize,
    /// Steps that predictions replaced.
    pub steps_saved: usize,
    /// Predictions that were undone, since the probe's loss missed its target.
    pub refused: usize,
    /// Forecasts whose confidence was too low to act on.
    pub unsure: usize,
    /// Forecasts of phases that were then trained with gradients.
    pub checks: Vec<ForecastCheck>,
    /// Predictions that were kept.
    pub jumps: Vec<Jump>,
}

impl HybridReport {
    /// Steps that are left of `steps`.
    pub(super) fn left(&self) -> usize {
        self.steps - self.full_steps - self.steps_saved
    }

    /// Root mean squared error of all checked forecasts, and of constants; `None` without any.
    #[must_use]
    pub fn forecast_errors(&self) -> Option<[f64; 2]> {
        let root = |error: fn(&ForecastCheck) -> f64| {
            (self.checks.iter().map(|check| error(check).powi(2)).sum::<f64>() / self.checks.len() as f64).sqrt()
        };
        (!self.checks.is_empty()).then(|| [root(|check| check.error), root(|check| check.constant_error)])
    }

    /// Whether constant losses would have been at least as good as all forecasts together.
    ///
    /// False without a forecast.
    #[must_use]
    pub fn is_worse_than_constant(&self) -> bool {
        let Some([error, constant]) = self.forecast_errors() else { return false };
        !matches!(error.partial_cmp(&constant), Some(std::cmp::Ordering::Less))
    }

    /// Mean magnitudes of the error of the jumps' forecasts, plain and corrected.
    ///
    /// `None` without a jump.
    #[must_use]
    pub fn jump_errors(&self) -> Option<[f64; 2]> {
        let mean = |forecast: fn(&Jump) -> f64| {
            let errors = self.jumps.iter().map(|jump| (forecast(jump) - jump.observed).abs());
            errors.sum::<f64>() / self.jumps.len() as f64
        };
        (!self.jumps.is_empty()).then(|| [mean(|jump| jump.forecast), mean(|jump| jump.corrected)])
    }
}

impl fmt::Display for HybridReport {
    /// One line for each of steps, forecasts and jumps.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, full_steps, steps_saved, refused, unsure, checks, jumps } = self;
        writeln!(f, "steps: {steps}, {full_steps} with gradients, {steps_saved} saved")?;
        let with_residuals = jumps.iter().filter(|jump| jump.has_residuals).count();
        writeln!(
            f,
            "jumps: {} kept ({with_residuals} with residuals), {refused} undone, {unsure} not tried",
            jumps.len()
        )?;
        if let Some([plain, corrected]) = self.jump_errors() {
            writeln!(f, "loss after a jump: forecasts off by {plain:.4}, corrected {corrected:.4}")?;
        }
        let Some([error, constant]) = self.forecast_errors() else {
            return write!(f, "forecasts: none");
        };
        let verdict = if self.is_worse_than_constant() { ": worse than a constant loss" } else { "" };
        let worse = checks.iter().filter(|check| check.is_worse_than_constant()).count();
        write!(
            f,
            "forecasts: error {error:.4}, of a constant loss {constant:.4}{verdict}; {worse} of {} worse than a constant",
            checks.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_are_compared_with_the_mean_of_recent_losses() {
        let before: Vec<f64> = [9.0].into_iter().chain((0..8).map(f64::from)).collect(); // the last eight have mean 3.5
        let check = ForecastCheck::new(4, &[7.0, 3.0, 1.0], &before, &[3.0, 2.0]);
        assert_eq!((check.step, check.error), (4, 0.5f64.sqrt()));
        assert!((check.constant_error - 1.25f64.sqrt()).abs() < 1e-12);
        assert!(!check.is_worse_than_constant());
        let unknown = ForecastCheck::new(4, &[7.0, f64::NAN, 1.0], &before, &[3.0, 2.0]);
        assert!(unknown.is_worse_than_constant());
    }

    #[test]
    fn a_report_names_forecasts_that_a_constant_beats() {
        let check = |error, constant_error| ForecastCheck { step: 0, error, constant_error };
        let (before, forecast, corrected) = (1.0, 0.5, 0.75);
        let jump = Jump { step: 9, steps: 6, before, forecast, corrected, observed: 0.75, has_residuals: true };
        let report = HybridReport {
            steps: 30,
            full_steps: 24,
            steps_saved: 6,
            refused: 2,
            unsure: 1,
            checks: vec![check(0.3, 0.1), check(0.1, 0.2)],
            jumps: vec![jump],
        };
        let expected = "steps: 30, 24 with gradients, 6 saved\n\
                        jumps: 1 kept (1 with residuals), 2 undone, 1 not tried\n\
                        loss after a jump: forecasts off by 0.2500, corrected 0.0000\n\
                        forecasts: error 0.2236, of a constant loss 0.1581: worse than a constant loss; \
                        1 of 2 worse than a constant";
        assert_eq!(report.to_string(), expected);
        let better = HybridReport { checks: vec![check(0.1, 0.2)], jumps: Vec::new(), ..report };
        assert!(
            !better.is_worse_than_constant() && better.to_string().ends_with("0.2000; 0 of 1 worse than a constant")
        );
        let none = HybridReport::default();
        assert!(!none.is_worse_than_constant() && none.to_string().ends_with("forecasts: none"));
    }
}
