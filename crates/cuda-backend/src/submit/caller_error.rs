//! Why memory or a stream of the caller's is refused.

use backend_api::BackendError;
use thiserror::Error;

use crate::error::DriverFault;

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
    /// The driver refused a call, or the device is lost.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<DriverFault> for CallerError {
    fn from(fault: DriverFault) -> Self {
        Self::Backend(fault.into())
    }
}
