//! The accelerator of hybrid-predict-trainer-rs on Trefoil, and its predict-and-correct loop.
//!
//! [`GpuAccelerator`] has the names of that project's `gpu` module: `encode_state`,
//! `predict_batch`, `compress_residuals`, `apply_corrections`, memory usage, streams and f16. The
//! upstream's calls are placeholders; these run on the processor ([`TrefoilCpu`]) or on an NVIDIA
//! GPU ([`TrefoilCuda`]). The formulas are operators of `nn-ops`: this crate has the names, the
//! memory of each shape, and the recordings.
//!
//! ```
//! use hybrid_accel::{GpuAccelerator, GpuTensor, TrainingState, TrefoilCpu};
//!
//! let accelerator = GpuAccelerator::new(TrefoilCpu::default())?;
//! let mut state = TrainingState::new();
//! (0..40).for_each(|step| state.record_step(2.0 / (1.0 + step as f32), 1.0));
//!
//! let encoded = accelerator.encode_state(&state)?; // [1, 128]
//! let predicted = accelerator.predict_batch(&[encoded], 10)?; // [1, 10, 128] of each tensor
//! let residuals = GpuTensor::from_slice(accelerator.queue(), &[0.01; 1280], &[10, 128])?;
//! let compressed = accelerator.compress_residuals(&residuals, 4)?;
//! let corrections = compressed.reconstruct()?;
//!
//! // The same four calls as one sequence, which a device records once per shape.
//! let cycle = accelerator.cycle(&[state], &residuals, 10, 4)?;
//! assert_eq!(cycle.predicted.to_host()?, predicted[0].to_host()?);
//! let flat = GpuTensor::from_slice(accelerator.queue(), &predicted[0].to_host()?, &[10, 128])?;
//! let corrected = accelerator.apply_corrections(&flat, &corrections)?;
//! assert_eq!(cycle.corrected.to_host()?, corrected.to_host()?);
//! # Ok::<(), hybrid_accel::AccelError>(())
//! ```
//!
//! [`HybridLoop`] trains a model in the upstream's phases: warm-up, full, predict, correct. It
//! reports the steps that it saved, and whether its forecasts were worse than a constant loss.
//!
//! # Features
//!
//! `cuda`, on by default, adds the GPU and the simulated one. It is the feature of `runtime`, whose
//! documentation lists its build requirements; without it, [`TrefoilCuda`] is not available.
#![forbid(unsafe_code)]

mod accelerator;
mod backend;
mod compressed;
mod config;
mod error;
mod stages;
mod tensor;
mod training;
mod weights;

/// The record of a training, under the names of the upstream.
pub use nn_ops::{OptimizerSummary as OptimizerStateSummary, TrainingPhase as Phase, TrainingState};

pub use accelerator::{Cycle, GpuAccelerator, MemoryUsage, Prediction};
pub use backend::{DeviceInfo, GpuBackend, TrefoilCpu, TrefoilCuda};
pub use compressed::CompressedGpuTensor;
pub use config::{AcceleratorConfig, EncodeStateConfig, GruConfig};
pub use error::AccelError;
pub use tensor::GpuTensor;
pub use training::{
    ForecastCheck, ForecastConfig, HybridConfig, HybridLoop, HybridModel, HybridReport, Jump, LabelledRows, MlpModel,
    StepOutcome,
};
pub use weights::AcceleratorWeights;

/// The page of the documentation, through a link that packages resolve.
#[cfg(doctest)]
#[doc = include_str!("../pages/hybrid-trainer.md")]
struct Switch;
