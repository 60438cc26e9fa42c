//! Reasons why a module of kernels cannot be used.
//!
//! They range from a file that cannot be read to a kernel that does not fit the device.

use std::path::PathBuf;

use backend_api::BackendError;
use cuda_loader::Status;
use thiserror::Error;

use super::ManifestError;

/// Why a module of kernels cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// A file of the folder cannot be read.
    #[error("`{path}` cannot be read: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why it cannot.
        reason: String,
    },
    /// The manifest is invalid, or the PTX is not the one it describes.
    #[error("module `{module}`: {reason}")]
    Manifest {
        /// The module.
        module: String,
        /// The defect.
        reason: ManifestError,
    },
    /// The device is of a lower compute capability than the module is made for.
    #[error("module `{module}` needs compute capability {}.{}, the device has {}.{}", need.0, need.1, found.0, found.1)]
    Capability {
        /// The module.
        module: String,
        /// The required compute capability.
        need: (u32, u32),
        /// The device's compute capability.
        found: (u32, u32),
    },
    /// The driver did not compile or load the PTX.
    #[error("module `{module}` was not loaded: {reason}{}", log_lines(.log))]
    Load {
        /// The module.
        module: String,
        /// The driver's error.
        reason: BackendError,
        /// Log of the driver's compiler; may be empty.
        log: String,
    },
    /// The PTX lacks a kernel of the manifest.
    #[error("module `{module}` lacks kernel `{kernel}`")]
    Missing {
        /// The module.
        module: String,
        /// The kernel.
        kernel: String,
    },
    /// The device cannot run a kernel with the blocks it is made for.
    #[error("kernel `{kernel}` does not fit the device: {reason}")]
    Unfit {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        reason: String,
    },
}

impl ModuleError {
    /// The error of a launch of `kernel` from the module.
    pub(super) fn of_kernel(self, kernel: &str) -> BackendError {
        match self {
            Self::Load {
                reason: reason @ (BackendError::DeviceLost { .. } | BackendError::OutOfMemory { .. }),
                ..
            } => reason,
            error => BackendError::Kernel { kernel: kernel.to_owned(), reason: error.to_string() },
        }
    }

    /// Whether it comes from the text itself, and not from a passing state of the device.
    pub(super) fn is_of_the_text(&self) -> bool {
        const CODES: [Status; 6] = [
            Status::INVALID_IMAGE,
            Status::NO_BINARY_FOR_GPU,
            Status::INVALID_PTX,
            Status::JIT_COMPILER_NOT_FOUND,
            Status::UNSUPPORTED_PTX_VERSION,
            Status::JIT_COMPILATION_DISABLED,
        ];
        match self {
            Self::Load { reason: BackendError::Driver { code, .. }, .. } => CODES.contains(&Status(*code)),
            Self::Load { .. } => false,
            _ => true,
        }
    }
}

fn log_lines(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}
