//! Driver codes become [`BackendError`] here; an error of `cust` is never formatted.

use backend_api::BackendError;
use cuda_loader::Status;
use cust::error::CudaError;

/// A driver call that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DriverFault {
    /// The call was refused; the device is still usable.
    Refused {
        /// The driver function.
        call: &'static str,
        /// The returned status.
        status: Status,
    },
    /// The device is lost, now or since an earlier call.
    Lost(BackendError),
}

impl DriverFault {
    /// Whether the driver had no memory for the request.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::Refused { status: Status::OUT_OF_MEMORY, .. })
    }

    /// The fault of an allocation of `bytes`.
    pub(crate) fn of_allocation(self, bytes: u64) -> BackendError {
        if self.is_out_of_memory() { BackendError::OutOfMemory { bytes } } else { self.into() }
    }
}

impl From<DriverFault> for BackendError {
    fn from(fault: DriverFault) -> Self {
        match fault {
            DriverFault::Refused { call, status } => Self::Driver {
                call,
                code: status.0,
                name: status.name().unwrap_or("an unknown code"),
                text: status.text().unwrap_or("the code is not listed in this version of Trefoil"),
            },
            DriverFault::Lost(error) => error,
        }
    }
}

/// Returns the driver's own code for an error that a call through `cust` just returned.
///
/// The enumeration of `cust` lacks many codes.
pub(crate) fn status_of(error: CudaError) -> Status {
    match error {
        CudaError::UnknownError => cuda_loader::last_failure().unwrap_or(Status::UNKNOWN),
        known => Status(known as i32),
    }
}
