//! Why there is no backend, and why no queue was opened.

use cpu_backend::CpuError;
use thiserror::Error;

use crate::{Choice, SettingsError};

/// Why a backend cannot be opened on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// This program was built without the feature `cuda` of crate `runtime`.
    #[error("this program was built without CUDA (feature `cuda` of crate `runtime`)")]
    NotBuilt,
    /// No device could be opened.
    #[cfg(feature = "cuda")]
    #[error("{0}")]
    Gpu(Box<cuda_backend::OpenError>),
    /// The simulated driver cannot be the one of this process.
    #[cfg(feature = "cuda")]
    #[error("{0}")]
    Simulator(Box<cuda_sim::driver::InstallError>),
    /// The process uses the simulated driver already, and a process uses one driver.
    #[cfg(feature = "cuda")]
    #[error("this process already uses the simulated CUDA driver; use a new process for a real one")]
    OnlySimulated,
    /// The device was opened, and an op on known values gave a wrong result.
    #[cfg(feature = "cuda")]
    #[error("the self-test of the device failed: op `{op}`: expected {expected}, got {got}")]
    Miscomputes {
        /// Name of the op.
        op: &'static str,
        /// The known result.
        expected: String,
        /// The device's result.
        got: String,
    },
}

/// Why no queue was opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A setting cannot be used.
    #[error("environment: {0}")]
    Settings(SettingsError),
    /// The requested backend cannot be opened and nothing may stand in for it.
    #[error("backend `{requested}` was requested: {reason}")]
    Unavailable {
        /// The requested backend.
        requested: Choice,
        /// Why it cannot be had.
        reason: Unavailable,
    },
    /// The CPU backend failed to open.
    #[error("cpu backend: {0}")]
    Cpu(CpuError),
}

impl From<SettingsError> for OpenError {
    fn from(error: SettingsError) -> Self {
        Self::Settings(error)
    }
}

impl From<CpuError> for OpenError {
    fn from(error: CpuError) -> Self {
        Self::Cpu(error)
    }
}
