//! The phases of the loop on models whose losses are known in closed form.

use hybrid_accel::{
    AccelError, GpuAccelerator, HybridConfig, HybridLoop, HybridModel, OptimizerStateSummary, StepOutcome, TrefoilCpu,
};
use nn_ops::Feedback;

use crate::common::cpu;

const RATE: f32 = 0.01;

/// Gradient descent on `|w - 0.5|^2 / 2 + 0.1`: each step keeps `1 - RATE` of the distance.
struct Bowl {
    weights: Vec<f32>,
    taken: usize,
    /// The step whose loss is NaN.
    diverges_at: Option<usize>,
    /// Whether every move that is not a step makes the probe's loss greater.
    is_hostile: bool,
    moves: usize,
}

impl Bowl {
    fn new() -> Self {
        let weights = (0..15).map(|i| (i * 7 % 11) as f32 / 5.0 - 1.0).collect();
        Self { weights, taken: 0, diverges_at: None, is_hostile: false, moves: 0 }
    }

    fn distance(&self) -> f32 {
        self.weights.iter().map(|w| (w - 0.5) * (w - 0.5)).sum()
    }
}

impl HybridModel for Bowl {
    fn full_step(&mut self) -> Result<StepOutcome, AccelError> {
        let is_lost = self.diverges_at == Some(self.taken);
        let (loss, gradient_norm) = (self.distance() / 2.0 + 0.1, self.distance().sqrt());
        self.weights.iter_mut().for_each(|w| *w -= RATE * (*w - 0.5));
        self.taken += 1;
        let loss = if is_lost { f32::NAN } else { loss };
        Ok(StepOutcome { loss, gradient_norm, optimizer: OptimizerStateSummary { rate: RATE, ..Default::default() } })
    }

    fn probe(&mut self) -> Result<f32, AccelError> {
        let more = if self.is_hostile { 100.0 * self.moves as f32 } else { 0.0 };
        Ok(self.distance() / 2.0 + 0.1 + more)
    }

    fn weights(&self) -> Result<Vec<f32>, AccelError> {
        Ok(self.weights.clone())
    }

    fn set_weights(&mut self, weights: &[f32]) -> Result<(), AccelError> {
        self.weights.copy_from_slice(weights);
        self.moves += 1;
        Ok(())
    }

    fn shapes(&self) -> Vec<Vec<usize>> {
        vec![vec![4, 3], vec![3]]
    }
}

fn config() -> HybridConfig {
    HybridConfig {
        warmup_steps: 20,
        full_steps: 10,
        max_predict_steps: 20,
        correct_steps: 5,
        confidence_threshold: 0.0,
        // Every move that does not make the loss greater is kept.
        tolerance: 1e6,
        ..HybridConfig::default()
    }
}

fn trained(model: Bowl, config: HybridConfig) -> HybridLoop<TrefoilCpu, Bowl> {
    HybridLoop::new(accelerator(), model, config).unwrap()
}

fn accelerator() -> GpuAccelerator<TrefoilCpu> {
    cpu(Feedback::State)
}

#[test]
fn steps_of_a_smooth_training_are_saved_and_its_loss_is_reached() {
    const STEPS: usize = 160;
    let mut plain = Bowl::new();
    for _ in 0..STEPS {
        plain.full_step().unwrap();
    }
    let mut training = trained(Bowl::new(), config());
    let report = training.run(STEPS).unwrap();
    assert_eq!(report.full_steps + report.steps_saved, STEPS);
    assert_eq!(report.full_steps, training.model().taken);
    // After 20 steps: cycles of 10 with gradients, 20 saved and 5 with gradients, and the rest.
    assert_eq!((report.steps_saved, report.jumps.len(), report.refused, report.unsure), (80, 4, 0, 0), "{report}");
    assert_eq!(report.checks.len(), 4);
    assert_eq!(report.checks[0].step, 20);
    for jump in &report.jumps {
        assert!(jump.steps == 20 && jump.observed <= jump.before, "{jump:?}");
    }
    // The drift is measured before the steps that it replaces, when the weights moved faster.
    let (reached, expected) = (training.model().distance(), plain.distance());
    assert!(reached <= expected, "{reached} {expected}");
    // A later call continues without a warm-up.
    let further = training.run(35).unwrap();
    assert_eq!((further.full_steps, further.steps_saved), (15, 20), "{further}");
}

#[test]
fn moves_that_miss_their_target_are_undone() {
    let (mut plain, hostile) = (Bowl::new(), Bowl { is_hostile: true, ..Bowl::new() });
    for _ in 0..60 {
        plain.full_step().unwrap();
    }
    let mut training = trained(hostile, config());
    let report = training.run(60).unwrap();
    assert!(report.refused > 0 && report.steps_saved == 0 && report.full_steps == 60, "{report}");
    assert_eq!(training.model().weights, plain.weights);
}

#[test]
fn forecasts_without_confidence_are_not_acted_on() {
    let config = HybridConfig { confidence_threshold: 1.0, ..config() };
    let mut training = trained(Bowl::new(), config);
    let report = training.run(60).unwrap();
    // Members with separate weights never agree in every bit.
    assert!(report.unsure > 0 && report.steps_saved == 0, "{report}");
    assert_eq!(report.unsure + report.refused, report.checks.len());
}

#[test]
fn losses_that_are_not_finite_end_the_training_with_their_step() {
    for at in [0, 25] {
        let mut training = trained(Bowl { diverges_at: Some(at), ..Bowl::new() }, config());
        let refused = training.run(100).unwrap_err();
        let expected = format!("step {at} of the training has loss NaN, expected a finite number");
        assert_eq!(refused.to_string(), expected);
    }
}

#[test]
fn options_and_models_that_make_no_loop_are_refused() {
    let refused =
        |model: Bowl, config: HybridConfig| HybridLoop::new(accelerator(), model, config).unwrap_err().to_string();
    assert_eq!(refused(Bowl::new(), HybridConfig { rank: 0, ..config() }), "rank must be in 1..=1024, got 0");
    let mut short = Bowl::new();
    short.weights.pop();
    assert_eq!(refused(short, config()), "`hybrid_loop` expected the model's weights of shape [15], got [14]");
}
