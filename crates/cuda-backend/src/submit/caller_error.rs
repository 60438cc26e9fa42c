//! Why memory or a stream of the caller's is refused.

use backend_api::BackendError;
use cuda_loader::Status;
use thiserror::Error;

use crate::{error::DriverFault, ffi::CAPTURE_CODES};

/// Why memory or a stream of the caller's is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallerError {
    /// The address is of host memory, or of memory that was freed.
    #[error("expected live memory of device {expected}, got host memory or an address of no allocation")]
    NotOnDevice {
        /// Ordinal of the device that was opened.
        expected: u32,
    },
    /// The memory is another device's.
    #[error("expected memory of device {expected}, got memory of device {got}")]
    OtherDevice {
        /// Ordinal of the device that was opened.
        expected: u32,
        /// Ordinal of the device that has the memory.
        got: i32,
    },
    /// The allocation ends before the array does.
    #[error("expected {expected} bytes of device memory, got {got} up to the end of the allocation")]
    TooShort {
        /// Bytes of the array.
        expected: u64,
        /// Bytes from its address to the end of the allocation.
        got: u64,
    },
    /// The stream is of another context.
    #[error("expected a stream of the primary context of device {expected}, got a stream of another context")]
    OtherContext {
        /// Ordinal of the device that was opened.
        expected: u32,
    },
    /// The stream records its work for a graph, so that no copy would run.
    #[error("expected a stream that runs its work, got a stream that is being captured")]
    Capturing,
    /// Another stream records its work, and the driver then refuses this call.
    ///
    /// The refused call may have ended that capture.
    #[error("expected no capture on another stream, got one that forbids {call} (code {code}) and may be invalid now")]
    OtherCapture {
        /// The driver function.
        call: &'static str,
        /// The driver's code.
        code: i32,
    },
    /// A part of a reserved range of addresses has no memory, or none that may be accessed.
    #[error("expected memory that is mapped and accessible in all of the array, {call} refused a part of it")]
    NotMapped {
        /// The driver function.
        call: &'static str,
    },
    /// The driver lacks a function that only memory of the caller's needs.
    #[error("the CUDA driver lacks {name}, which arrays and streams of the program on a device need")]
    MissingFunction {
        /// Its name.
        name: &'static str,
    },
    /// The driver refused a call, or the device is lost.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<DriverFault> for CallerError {
    fn from(fault: DriverFault) -> Self {
        match fault {
            DriverFault::Refused { call, status: Status::NOT_SUPPORTED } if is_missing(call) => {
                Self::MissingFunction { name: call }
            }
            DriverFault::Refused { call, status } if CAPTURE_CODES.contains(&status.0) => {
                Self::OtherCapture { call, code: status.0 }
            }
            fault => Self::Backend(fault.into()),
        }
    }
}

/// Whether the driver lacks a function that was called.
fn is_missing(name: &str) -> bool {
    cuda_loader::available().is_ok_and(|driver| driver.refused().contains(&name))
}
