//! Options of the predict-and-correct loop.

use crate::error::AccelError;

/// Rows of features that are kept.
pub(super) const HISTORY: usize = 4096;

/// Lengths of the phases, and the target of a predicted step.
///
/// The numbers after the fields are their defaults; [`check`](Self::check) has the values allowed.
/// The defaults of the first three, of the threshold and of the rank follow
/// hybrid-predict-trainer-rs.
#[derive(Clone, Debug, PartialEq)]
pub struct HybridConfig {
    /// Steps with gradients at the start: 100.
    pub warmup_steps: usize,
    /// Steps with gradients before each prediction: 20.
    pub full_steps: usize,
    /// Steps that one prediction may save: 80.
    pub max_predict_steps: usize,
    /// Steps with gradients after each prediction: 5.
    pub correct_steps: usize,
    /// Least confidence of a forecast that is acted on: 0.85.
    pub confidence_threshold: f64,
    /// Part by which a predicted step may miss the upper bound of its forecast: 0.05.
    pub tolerance: f64,
    /// Rank of the residuals of weights: 4.
    pub rank: usize,
    /// The ensemble that forecasts losses.
    pub forecast: ForecastConfig,
}

impl Default for HybridConfig {
    fn default() -> Self {
        Self {
            warmup_steps: 100,
            full_steps: 20,
            max_predict_steps: 80,
            correct_steps: 5,
            confidence_threshold: 0.85,
            tolerance: 0.05,
            rank: 4,
            forecast: ForecastConfig::default(),
        }
    }
}

/// Sizes and training of the ensemble that forecasts losses.
///
/// The numbers after the fields are their defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct ForecastConfig {
    /// Members: 3.
    pub members: usize,
    /// Elements of a member's state: 24.
    pub hidden: usize,
    /// Rows of a training window: 12.
    pub window: usize,
    /// Windows of a training step: 8.
    pub batch: usize,
    /// Training steps before the first forecast: 150.
    pub first_training: usize,
    /// Training steps before each later forecast: 40.
    pub training: usize,
    /// Rate of the ensemble's training: 0.01.
    pub rate: f64,
    /// Seed of the initial weights and of the windows: 7.
    pub seed: u64,
}

impl Default for ForecastConfig {
    fn default() -> Self {
        Self { members: 3, hidden: 24, window: 12, batch: 8, first_training: 150, training: 40, rate: 0.01, seed: 7 }
    }
}

impl HybridConfig {
    /// Refuses numbers that make no loop.
    ///
    /// `full_steps` and `forecast.window` are 2 to 1024, and `warmup_steps` is greater than the
    /// window. `rank` and `forecast.members` are 1 to 1024, `forecast.hidden` is 1 to 4096.
    /// `max_predict_steps`, `correct_steps` and `forecast.batch` are at least 1. The threshold is 0
    /// to 1, and `tolerance` is 0 or more.
    ///
    /// # Errors
    /// [`AccelError::Config`] with the name of the number and the values allowed.
    pub fn check(&self) -> Result<(), AccelError> {
        let ForecastConfig { members, hidden, window, batch, .. } = self.forecast;
        let within = |steps: usize| (2..=HISTORY / 4).contains(&steps);
        let rules = [
            ("full_steps", "in 2..=1024", self.full_steps, within(self.full_steps)),
            ("forecast.window", "in 2..=1024", window, within(window)),
            ("warmup_steps", "greater than forecast.window", self.warmup_steps, self.warmup_steps > window),
            ("max_predict_steps", "1 or more", self.max_predict_steps, self.max_predict_steps > 0),
            ("correct_steps", "1 or more", self.correct_steps, self.correct_steps > 0),
            ("rank", "in 1..=1024", self.rank, (1..=1024).contains(&self.rank)),
            ("forecast.members", "in 1..=1024", members, (1..=1024).contains(&members)),
            ("forecast.hidden", "in 1..=4096", hidden, (1..=4096).contains(&hidden)),
            ("forecast.batch", "1 or more", batch, batch > 0),
        ];
        if let Some((name, expected, got, _)) = rules.into_iter().find(|(.., holds)| !holds) {
            return Err(AccelError::config(name, expected, got));
        }
        let shares = [
            ("confidence_threshold", "in 0..=1", self.confidence_threshold, 1.0),
            ("tolerance", "0 or more and finite", self.tolerance, f64::MAX),
        ];
        match shares.into_iter().find(|(.., value, most)| !(0.0..=*most).contains(value)) {
            Some((name, expected, got, _)) => Err(AccelError::config(name, expected, got)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_make_no_loop_are_refused_by_name() {
        let plain = HybridConfig::default();
        assert_eq!(plain.check(), Ok(()));
        for (config, expected) in [
            (HybridConfig { full_steps: 1, ..plain.clone() }, "full_steps must be in 2..=1024, got 1"),
            (
                HybridConfig { warmup_steps: 12, ..plain.clone() },
                "warmup_steps must be greater than forecast.window, got 12",
            ),
            (HybridConfig { rank: 0, ..plain.clone() }, "rank must be in 1..=1024, got 0"),
            (HybridConfig { tolerance: f64::NAN, ..plain.clone() }, "tolerance must be 0 or more and finite, got NaN"),
            (
                HybridConfig { confidence_threshold: 1.5, ..plain.clone() },
                "confidence_threshold must be in 0..=1, got 1.5",
            ),
        ] {
            assert_eq!(config.check().unwrap_err().to_string(), expected);
        }
    }
}
