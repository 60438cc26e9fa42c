//! The loop: warm-up, then full, predicted and corrected steps in turn.
//!
//! A prediction moves all weights along their [drift](super::drift) and is kept if the probe's
//! loss then is at most
//!
//! `before min(1, (1 + tolerance) upper / first)`,
//!
//! where `first` is the forecast loss of the next step, and `upper` is the upper bound of the
//! forecast after the steps that the move replaces.

use nn_ops::{RssmSummary, TrainingPhase, TrainingState};

use super::{
    config::{HISTORY, HybridConfig},
    corrector::LossCorrector,
    drift::{Drift, Matrix, matrices},
    forecaster::{FeatureRow, LossForecaster},
    model::HybridModel,
    report::{ForecastCheck, HybridReport, Jump},
};
use crate::{accelerator::GpuAccelerator, backend::GpuBackend, error::AccelError, tensor::GpuTensor};

/// Shares of a forecast's steps that are tried as a jump, the longest first.
const SHARES: [usize; 3] = [1, 2, 4];

/// Factors of a jump's length.
const SCALES: [f32; 2] = [1.0, 0.5];

/// A training in the phases of hybrid-predict-trainer-rs.
///
/// - Warm-up, once: steps with gradients.
/// - Full: steps with gradients. The mean move of the weights is measured.
/// - Predict: the losses of the next steps are forecast, and all weights are moved like these steps
///   would move them. Tried are all steps, a half and a quarter of them, in full length and half,
///   with the residuals of the last prediction and without. The move with the least loss of the
///   probe is kept if it reaches its forecast, and undone otherwise.
/// - Correct: steps with gradients. Their moves beyond the predicted ones are the residuals, which
///   the accelerator compresses to low rank.
///
/// Forecasts are by an ensemble of recurrent units on the 64 features of the training, which learns
/// while it runs. Before each prediction, its forecast of the full phase is compared with the
/// losses there: if a constant loss is better, the forecast is reported as such, and a prediction
/// only has to keep the loss from rising.
///
/// ```
/// use hybrid_accel::{GpuAccelerator, HybridConfig, HybridLoop, LabelledRows, MlpModel, TrefoilCpu};
/// use nn_ops::OptimizerConfig;
///
/// let accelerator = GpuAccelerator::new(TrefoilCpu::default())?;
/// let rows = LabelledRows { inputs: vec![0.0, 1.0, 1.0, 0.0], labels: vec![1, 0] };
/// let model = MlpModel::new(accelerator.queue(), &[2, 8, 2], rows, 2, OptimizerConfig::sgd(0.02, 0.9), 1)?;
/// let mut training = HybridLoop::new(accelerator, model, HybridConfig::default())?;
/// let report = training.run(150)?;
/// assert_eq!(report.full_steps + report.steps_saved, 150);
/// # Ok::<(), hybrid_accel::AccelError>(())
/// ```
pub struct HybridLoop<B: GpuBackend, M: HybridModel> {
    accelerator: GpuAccelerator<B>,
    model: M,
    config: HybridConfig,
    state: TrainingState,
    rows: Vec<FeatureRow>,
    forecaster: LossForecaster,
    corrector: LossCorrector,
    matrices: Vec<Matrix>,
    /// Weights of the model.
    count: usize,
    /// The residual of each matrix after the last prediction; none if that was undone.
    residuals: Vec<GpuTensor>,
}

/// A forecast, and whether one before it was better than a constant.
struct Forecast {
    summary: RssmSummary,
    is_trusted: bool,
}

impl Forecast {
    /// The factor of the loss after `steps` steps, and its upper bound.
    fn factors(&self, steps: usize) -> [f64; 2] {
        let RssmSummary { mean, bounds, .. } = &self.summary;
        match (mean.get(1), mean.get(steps), bounds.get(steps)) {
            (Some(first), Some(mean), Some([_, upper])) if self.is_trusted => [mean / first, upper / first],
            _ => [1.0; 2],
        }
    }
}

/// Weights that were tried.
struct TriedWeights {
    weights: Vec<f32>,
    loss: f64,
    has_residuals: bool,
}

impl<B: GpuBackend, M: HybridModel> HybridLoop<B, M> {
    /// A loop that trains `model`, with an ensemble and residuals on the accelerator's device.
    ///
    /// # Errors
    /// As [`HybridConfig::check`]; [`AccelError::Shape`] if the model's shapes do not add up to its
    /// weights; the errors of the model; [`AccelError::Ops`] if memory is short.
    pub fn new(accelerator: GpuAccelerator<B>, model: M, config: HybridConfig) -> Result<Self, AccelError> {
        config.check()?;
        let shapes = model.shapes();
        let (count, got) =
            (shapes.iter().map(|shape| shape.iter().product::<usize>()).sum::<usize>(), model.weights()?.len());
        admit(count, got)?;
        let q = accelerator.queue();
        Ok(Self {
            forecaster: LossForecaster::new(q, &config.forecast)?,
            corrector: LossCorrector::new(q)?,
            matrices: matrices(&shapes),
            count,
            state: TrainingState::new(),
            rows: Vec::new(),
            residuals: Vec::new(),
            accelerator,
            model,
            config,
        })
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Gives the model back.
    #[must_use]
    pub fn into_model(self) -> M {
        self.model
    }

    /// The accelerator.
    #[must_use]
    pub fn accelerator(&self) -> &GpuAccelerator<B> {
        &self.accelerator
    }

    /// Trains for `steps` steps, some of them replaced by predictions.
    ///
    /// A later call continues the training.
    ///
    /// # Errors
    /// [`AccelError::Diverged`] for a loss or a gradient that is not finite, the errors of the
    /// model, and [`AccelError::Ops`] from the device.
    pub fn run(&mut self, steps: usize) -> Result<HybridReport, AccelError> {
        let mut report = HybridReport { steps, ..HybridReport::default() };
        // Warm-up, unless earlier calls have done it.
        let warmup = self.config.warmup_steps.saturating_sub(usize::try_from(self.state.step()).unwrap_or(usize::MAX));
        if warmup > 0 {
            self.state.enter_phase(TrainingPhase::Warmup);
            self.full_steps(warmup, &mut report)?;
        }
        while report.left() > 0 {
            // Full: the drift of the weights is measured.
            self.state.enter_phase(TrainingPhase::Full);
            let mut drift = Drift::new(self.config.full_steps);
            for _ in 0..report.left().min(self.config.full_steps) {
                self.full_steps(1, &mut report)?;
                drift.push(&self.weights()?);
            }
            let horizon = report.left().saturating_sub(self.config.correct_steps).min(self.config.max_predict_steps);
            if horizon == 0 {
                // Too few steps are left to predict and correct.
                let left = report.left();
                self.full_steps(left, &mut report)?;
                break;
            }
            // Predict.
            let forecast = self.forecast(horizon, &mut report)?;
            self.state.enter_phase(TrainingPhase::Predict);
            let direction = drift.direction();
            let jumped = match forecast {
                Some(forecast) => self.jump(&direction, horizon, &forecast, &mut report)?,
                None => None,
            };
            // Correct: gradients show the error of the prediction.
            self.state.enter_phase(TrainingPhase::Correct);
            self.full_steps(self.config.correct_steps, &mut report)?;
            self.residuals = match jumped {
                Some(weights) => self.residuals_since(&weights, &direction)?,
                None => Vec::new(),
            };
        }
        Ok(report)
    }

    /// The weights of the model, whose number stays.
    fn weights(&self) -> Result<Vec<f32>, AccelError> {
        let weights = self.model.weights()?;
        admit(self.count, weights.len())?;
        Ok(weights)
    }

    /// Takes up to `count` steps with gradients, if that many are left.
    fn full_steps(&mut self, count: usize, report: &mut HybridReport) -> Result<(), AccelError> {
        for _ in 0..count.min(report.left()) {
            let outcome = self.model.full_step()?;
            for (name, got) in [("loss", outcome.loss), ("gradient norm", outcome.gradient_norm)] {
                if !got.is_finite() {
                    return Err(AccelError::Diverged { step: self.state.step(), name, got });
                }
            }
            self.state.optimizer = outcome.optimizer;
            self.state.record_step(outcome.loss, outcome.gradient_norm);
            let features = self.accelerator.compute_features(&self.state)?;
            let row = FeatureRow::try_from(features)
                .map_err(|got| AccelError::shape("compute_features", "the features", "[64]", &[got.len()]))?;
            // Old rows make room, many at a time.
            if self.rows.len() >= 2 * HISTORY {
                self.rows.drain(..HISTORY);
            }
            self.rows.push(row);
            report.full_steps += 1;
        }
        Ok(())
    }

    /// Forecasts the next losses, after a check of the forecast of the phase before.
    ///
    /// `None` before the forecaster has enough steps to learn from.
    fn forecast(&mut self, horizon: usize, report: &mut HybridReport) -> Result<Option<Forecast>, AccelError> {
        let full = self.config.full_steps;
        let (learned, after) = self.rows.split_at(self.rows.len().saturating_sub(full));
        let losses = |rows: &[FeatureRow]| rows.iter().map(|row| f64::from(row[0])).collect::<Vec<_>>();
        // The rows of the phase are not learned before they have been predicted.
        self.forecaster.learn(learned)?;
        let Some(checked) = self.forecaster.predict(learned, full)? else { return Ok(None) };
        let step = self.state.step().saturating_sub(full as u64);
        let check = ForecastCheck::new(step, &checked.mean, &losses(learned), &losses(after));
        report.checks.push(check);
        self.forecaster.learn(&self.rows)?;
        let summary = self.forecaster.predict(&self.rows, horizon)?;
        Ok(summary.map(|summary| Forecast { summary, is_trusted: !check.is_worse_than_constant() }))
    }

    /// Moves the weights as up to `horizon` steps would; returns them if the move is kept.
    fn jump(
        &mut self,
        direction: &[f32],
        horizon: usize,
        forecast: &Forecast,
        report: &mut HybridReport,
    ) -> Result<Option<Vec<f32>>, AccelError> {
        let confidence = forecast.summary.confidence;
        if confidence.is_nan() || confidence < self.config.confidence_threshold {
            report.unsure += 1;
            return Ok(None);
        }
        let (weights, before) = (self.weights()?, f64::from(self.model.probe()?));
        match self.tried(direction, horizon, forecast, (&weights, before), report) {
            Ok(None) => {
                self.model.set_weights(&weights)?;
                report.refused += 1;
                Ok(None)
            }
            Ok(kept) => Ok(kept),
            Err(error) => {
                // The weights from before, if the model takes them; the first error is the one to report.
                self.model.set_weights(&weights).ok();
                Err(error)
            }
        }
    }

    /// Tries moves from the longest on; returns the weights of the first that is kept.
    ///
    /// Otherwise the model is left at weights that were tried. `before` is the loss of the probe.
    fn tried(
        &mut self,
        direction: &[f32],
        horizon: usize,
        forecast: &Forecast,
        (weights, before): (&[f32], f64),
        report: &mut HybridReport,
    ) -> Result<Option<Vec<f32>>, AccelError> {
        let confidence = forecast.summary.confidence;
        for steps in SHARES.map(|share| horizon / share).into_iter().filter(|&steps| steps > 0) {
            let [factor, upper] = forecast.factors(steps);
            let target = before * ((1.0 + self.config.tolerance) * upper).min(1.0);
            let Some(best) = self.best(weights, direction, steps)?.filter(|best| best.loss <= target) else {
                continue;
            };
            self.model.set_weights(&best.weights)?;
            // The forecast is corrected by earlier ones, and then stored with its own residual.
            let (step, predicted) = (self.state.step(), before * factor);
            let Some(&row) = self.rows.last() else { return Ok(None) };
            let corrected = self.corrector.correct(&row, step, predicted as f32)?;
            self.corrector.store(&row, step, (best.loss - predicted) as f32, confidence as f32)?;
            report.steps_saved += steps;
            report.jumps.push(Jump {
                step,
                steps,
                before,
                forecast: predicted,
                corrected: corrected.into(),
                observed: best.loss,
                has_residuals: best.has_residuals,
            });
            return Ok(Some(best.weights));
        }
        Ok(None)
    }

    /// The move of `steps` steps with the least loss of the probe, if one is finite.
    fn best(&mut self, weights: &[f32], direction: &[f32], steps: usize) -> Result<Option<TriedWeights>, AccelError> {
        let mut best: Option<TriedWeights> = None;
        for scale in SCALES {
            let factor = scale * steps as f32;
            let moved: Vec<f32> = weights.iter().zip(direction).map(|(w, d)| w + factor * d).collect();
            let corrected = if self.residuals.is_empty() { None } else { Some(self.corrected(&moved)?) };
            for (weights, has_residuals) in [(Some(moved), false), (corrected, true)] {
                let Some(weights) = weights else { continue };
                self.model.set_weights(&weights)?;
                let loss = f64::from(self.model.probe()?);
                let is_better = loss.is_finite() && best.as_ref().is_none_or(|best| loss < best.loss);
                if is_better {
                    best = Some(TriedWeights { weights, loss, has_residuals });
                }
            }
        }
        Ok(best)
    }

    /// Predicted weights with the residual of each matrix added.
    fn corrected(&self, weights: &[f32]) -> Result<Vec<f32>, AccelError> {
        let (q, mut corrected) = (self.accelerator.queue(), weights.to_vec());
        for (matrix, residual) in self.matrices.iter().zip(&self.residuals) {
            let part = &mut corrected[matrix.place.clone()];
            let predictions = GpuTensor::from_slice(q, part, &matrix.shape)?;
            part.copy_from_slice(&self.accelerator.apply_corrections(&predictions, residual)?.to_host()?);
        }
        Ok(corrected)
    }

    /// The move of the weights since `jumped` beyond their drift, of low rank.
    fn residuals_since(&self, jumped: &[f32], direction: &[f32]) -> Result<Vec<GpuTensor>, AccelError> {
        let (q, weights) = (self.accelerator.queue(), self.weights()?);
        let predicted = self.config.correct_steps as f32;
        let residual: Vec<f32> = weights
            .iter()
            .zip(jumped.iter().zip(direction))
            .map(|(after, (jumped, drift))| after - jumped - predicted * drift)
            .collect();
        let of = |matrix: &Matrix| {
            let residual = GpuTensor::from_slice(q, &residual[matrix.place.clone()], &matrix.shape)?;
            self.accelerator.compress_residuals(&residual, self.config.rank)?.reconstruct()
        };
        self.matrices.iter().map(of).collect()
    }
}

/// Refuses a model with another number of weights than its shapes have.
fn admit(expected: usize, got: usize) -> Result<(), AccelError> {
    if expected == got {
        return Ok(());
    }
    Err(AccelError::shape("hybrid_loop", "the model's weights", format!("[{expected}]"), &[got]))
}

impl<B: GpuBackend, M: HybridModel> std::fmt::Debug for HybridLoop<B, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HybridLoop")
            .field("accelerator", &self.accelerator)
            .field("config", &self.config)
            .field("step", &self.state.step())
            .finish_non_exhaustive()
    }
}
