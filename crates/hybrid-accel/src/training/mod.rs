//! Training that predicts steps and corrects the predictions.

mod config;
mod corrector;
mod drift;
mod forecaster;
mod mlp;
mod model;
mod report;
mod run;

pub use config::{ForecastConfig, HybridConfig};
pub use mlp::{LabelledRows, MlpModel};
pub use model::{HybridModel, StepOutcome};
pub use report::{ForecastCheck, HybridReport, Jump};
pub use run::HybridLoop;
