//! Why a process has no NCCL.

use std::path::PathBuf;

use super::{Status, Version};

/// Why this process has no NCCL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The choice was [`Source::None`](crate::Source::None).
    #[error("NCCL is switched off")]
    Disabled,
    /// The platform has no such library.
    #[error("no NCCL library on this machine (tried {})", names.join(", "))]
    NotFound {
        /// The names tried.
        names: &'static [&'static str],
        /// The loader's error for each name.
        reasons: Vec<String>,
    },
    /// A library file cannot be loaded.
    #[error("`{path}` cannot be loaded as NCCL: {reason}")]
    Library {
        /// The file.
        path: PathBuf,
        /// Why it cannot.
        reason: String,
    },
    /// The loaded library lacks a required function.
    #[error("`{path}` is not a usable NCCL library: it lacks {function}")]
    Lacks {
        /// The library.
        path: PathBuf,
        /// The function.
        function: &'static str,
    },
    /// The library did not state its version.
    #[error("the version of NCCL cannot be read: {0}")]
    Version(Status),
    /// The library is older than the oldest one supported.
    #[error("expected NCCL of release {oldest} or newer, got {found}")]
    TooOld {
        /// Its release.
        found: Version,
        /// The oldest release supported.
        oldest: Version,
    },
}
