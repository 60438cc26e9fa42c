//! Why a process has no driver.

use std::path::PathBuf;

use super::version::DriverVersion;
use crate::results::status::Status;

/// Why this process has no driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The choice was [`Source::None`](crate::Source::None).
    #[error("the CUDA driver is switched off")]
    Disabled,
    /// The platform has no driver library.
    #[error("no CUDA driver library on this machine (tried {})", names.join(", "))]
    NotFound {
        /// The names tried.
        names: &'static [&'static str],
        /// The loader's error for each name.
        reasons: Vec<String>,
    },
    /// A library file cannot be loaded.
    #[error("`{path}` cannot be loaded as the CUDA driver: {reason}")]
    Library {
        /// The file.
        path: PathBuf,
        /// Why it cannot.
        reason: String,
    },
    /// A library was loaded but is no CUDA driver.
    #[error("`{path}` is not a CUDA driver: it lacks {function}")]
    NotADriver {
        /// The library.
        path: PathBuf,
        /// The function that every driver has.
        function: &'static str,
    },
    /// The driver did not state its version.
    #[error("the version of the CUDA driver cannot be read: {0}")]
    Version(Status),
    /// The driver is older than the oldest one supported.
    #[error("expected a CUDA driver of release {oldest} or newer, got {found}")]
    TooOld {
        /// Its release.
        found: DriverVersion,
        /// The oldest release supported.
        oldest: DriverVersion,
    },
}
