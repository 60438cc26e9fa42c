//! Forecasts of losses, by an ensemble that learns from the features of earlier steps.

use nn_ops::{
    GruInputs, GruPlan, GruResults, Init, LossError, NnError, OptimizerConfig, RssmOperands, RssmPlan, RssmSpec,
    RssmSummary, RssmTensors, RssmTrainer, RssmTraining, Tensor,
};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use runtime::AnyQueue;

use super::config::ForecastConfig;
use crate::{config::FEATURES, weights::random_units};

/// The features of a training after one step; the first is the loss.
pub(super) type FeatureRow = [f32; FEATURES];

/// Elements of the second part of a combined state.
const STOCHASTIC: usize = 8;
/// The norm that gradients are held to, as in RSSM-Lite.
const CLIP: f64 = 5.0;
/// The least loss that is learned, as in RSSM-Lite.
const LEAST: f32 = 1e-6;

/// An ensemble of recurrent units on the features of a training.
///
/// Its inputs, head and feedback are RSSM-Lite's: 64 features, and the first becomes the loss that
/// each member predicted.
pub(super) struct LossForecaster {
    q: AnyQueue,
    config: ForecastConfig,
    trainer: RssmTrainer<AnyQueue>,
    random: ChaCha8Rng,
    has_learned: bool,
}

impl LossForecaster {
    /// An ensemble with random weights.
    pub(super) fn new(q: &AnyQueue, config: &ForecastConfig) -> Result<Self, NnError> {
        let (hidden, seed) = (config.hidden, config.seed);
        let members = random_units(config.members, [FEATURES, hidden], seed, 1)?;
        let head = Init::Glorot.values(&[hidden + STOCHASTIC, 1], seed, 0)?;
        // Losses differ by orders of magnitude, and small ones count the same.
        let training = RssmTraining {
            batch: config.batch,
            steps: config.window,
            stochastic: STOCHASTIC,
            error: LossError::OfLogarithms,
            ..RssmTraining::default()
        };
        let optimizer = OptimizerConfig { clip: Some(CLIP), ..OptimizerConfig::adam(config.rate) };
        Ok(Self {
            trainer: RssmTrainer::new(q, &members, &head, training, optimizer)?,
            q: q.clone(),
            config: config.clone(),
            random: ChaCha8Rng::seed_from_u64(seed),
            has_learned: false,
        })
    }

    /// Trains on windows of `rows`, if they are more than a window has.
    pub(super) fn learn(&mut self, rows: &[FeatureRow]) -> Result<(), NnError> {
        let ForecastConfig { window, batch, first_training, training, .. } = self.config;
        let count = rows.len().saturating_sub(window) as u64;
        if count == 0 {
            return Ok(());
        }
        let training = if self.has_learned { training } else { first_training };
        for _ in 0..training {
            let starts: Vec<usize> = (0..batch).map(|_| (self.random.next_u64() % count) as usize).collect();
            let places = || (0..window).flat_map(|step| starts.iter().map(move |start| start + step));
            let x: Vec<f32> = places().flat_map(|at| rows[at]).collect();
            let targets: Vec<f32> = places().map(|at| rows[at + 1][0].max(LEAST)).collect();
            let x = Tensor::from_values(&self.q, &[window, batch, FEATURES], &x)?;
            let targets = Tensor::from_values(&self.q, &[window, batch], &targets)?;
            self.trainer.step(&self.q, x.at(), targets.at())?;
        }
        self.has_learned = true;
        Ok(())
    }

    /// Predicts the losses of the `steps` steps after the last row.
    pub(super) fn predict(&self, rows: &[FeatureRow], steps: usize) -> Result<Option<RssmSummary>, NnError> {
        let (q, weights, window) = (&self.q, self.trainer.weights(), self.config.window);
        let (members, hidden) = (weights.count(), weights.hidden());
        let Some((now, before)) = rows.split_last().filter(|(_, before)| before.len() >= window) else {
            return Ok(None);
        };
        // The rows before determine the states.
        let before: Vec<f32> = before[before.len() - window..].iter().flatten().copied().collect();
        let before = Tensor::from_values(q, &[window, 1, FEATURES], &before)?;
        let mut states = Tensor::alloc(q, &[members, 1, hidden])?;
        let results = GruResults { states: None, last: states.at_mut(), saved: None };
        GruPlan::new(weights, 1, window, GruInputs::Sequence)?.forward(q, weights, before.at(), None, results)?;
        // Each member continues with its own losses.
        let plan = RssmPlan::new(weights, RssmSpec { batch: 1, steps, stochastic: STOCHASTIC, ..RssmSpec::default() })?;
        let losses = Tensor::from_values(q, &[members, 1], &vec![now[0]; members])?;
        let now = Tensor::from_values(q, &[1, FEATURES], now)?;
        let mut results = RssmTensors::new(q, &plan)?;
        let operands = RssmOperands { features: now.at(), first: states.at(), losses: losses.at() };
        plan.run(q, weights, self.trainer.head()?, operands, results.at_mut())?;
        Ok(results.summaries(q)?.into_iter().next())
    }
}
