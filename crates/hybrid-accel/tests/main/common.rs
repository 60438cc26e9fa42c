//! Small accelerators on both backends.

use backend_api::DType;
use hybrid_accel::{
    AcceleratorConfig, AcceleratorWeights, EncodeStateConfig, GpuAccelerator, GpuBackend, GruConfig, TrainingState,
    TrefoilCpu, TrefoilCuda,
};
use nn_ops::Feedback;
use runtime::Settings;

pub(crate) const OUTPUT: usize = 12;
pub(crate) const HIDDEN: usize = 20;
pub(crate) const MEMBERS: usize = 2;
pub(crate) const STOCHASTIC: usize = 4;

pub(crate) fn config(feedback: Feedback, precision: DType) -> AcceleratorConfig {
    AcceleratorConfig {
        encode: EncodeStateConfig { output_dim: OUTPUT, ..EncodeStateConfig::default() },
        gru: GruConfig { hidden_dim: HIDDEN, input_dim: OUTPUT, ..GruConfig::default() },
        members: MEMBERS,
        stochastic: STOCHASTIC,
        feedback,
        precision,
        seed: 3,
        ..AcceleratorConfig::default()
    }
}

/// Weights with biases that are not zero.
pub(crate) fn weights(config: &AcceleratorConfig) -> AcceleratorWeights {
    let mut weights = AcceleratorWeights::random(config).unwrap();
    let bias = |i: usize| (i as f32 - 4.0) / 16.0;
    weights.encoder_bias = (0..OUTPUT).map(bias).collect();
    weights.state_bias = (0..OUTPUT).map(bias).rev().collect();
    weights
}

pub(crate) fn open<B: GpuBackend>(backend: B, feedback: Feedback, precision: DType) -> GpuAccelerator<B> {
    let config = config(feedback, precision);
    let weights = weights(&config);
    GpuAccelerator::with_weights(backend, config, &weights).unwrap()
}

pub(crate) fn cpu(feedback: Feedback) -> GpuAccelerator<TrefoilCpu> {
    open(TrefoilCpu::default(), feedback, DType::F32)
}

/// The simulated device `number` of two; a process has one simulated machine.
pub(crate) fn simulated(number: u32) -> TrefoilCuda {
    let machine = Some("devices=2".parse().unwrap());
    TrefoilCuda::simulated(Settings { simulated: machine, cuda_device: number, ..Settings::default() })
}

pub(crate) fn sim_on(number: u32, feedback: Feedback) -> GpuAccelerator<TrefoilCuda> {
    open(simulated(number), feedback, DType::F32)
}

pub(crate) fn sim(feedback: Feedback) -> GpuAccelerator<TrefoilCuda> {
    sim_on(0, feedback)
}

/// Trainings whose losses fall by different factors.
pub(crate) fn trainings(count: usize) -> Vec<TrainingState> {
    let training = |number: usize| {
        let mut state = TrainingState::new();
        for step in 0..40 {
            let loss = 3.0 * (0.9 + 0.02 * number as f32).powi(step);
            state.record_step(loss, 1.0 / (1.0 + step as f32));
        }
        state.optimizer.rate = 1e-3;
        state
    };
    (0..count).map(training).collect()
}

/// Numbers within -1..1.
pub(crate) fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect()
}

/// The largest difference, relative to values above 1.
pub(crate) fn difference(got: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(got.len(), expected.len());
    let of = |(got, expected): (&f32, &f32)| {
        assert!(got.is_finite() && expected.is_finite(), "{got} {expected}");
        (got - expected).abs() / expected.abs().max(1.0)
    };
    got.iter().zip(expected).map(of).fold(0.0, f32::max)
}
