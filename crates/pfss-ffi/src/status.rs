//! Codes of outcomes, and the message of the last failure of a thread.

use core::{ffi::c_char, fmt};
use std::{
    cell::RefCell,
    ffi::CString,
    panic::{AssertUnwindSafe, catch_unwind},
};

use pfss::{PfssError, batch::BatchError};

/// How a call ended.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "names of the C interface")]
pub enum Status {
    /// It succeeded.
    TREFOIL_PFSS_OK = 0,
    /// A pointer is null or misaligned, or a name or a number is meaningless.
    TREFOIL_PFSS_ARGUMENT = 1,
    /// An array does not have the number of elements that the call needs.
    TREFOIL_PFSS_LENGTH = 2,
    /// The bytes are not a key bundle.
    TREFOIL_PFSS_BUNDLE = 3,
    /// The bytes are not a program, or the program is refused.
    TREFOIL_PFSS_PROGRAM = 4,
    /// The keys, the evaluation, the run or the batch are in the wrong state for the call.
    ///
    /// They are past this step or not yet there, or the keys were used before.
    TREFOIL_PFSS_STATE = 5,
    /// The backend cannot be opened, or failed.
    TREFOIL_PFSS_BACKEND = 6,
    /// A mistake in this library, or no randomness or memory.
    TREFOIL_PFSS_INTERNAL = 7,
    /// A limit of the batch, or its device memory, would be exceeded.
    TREFOIL_PFSS_LIMIT = 8,
    /// The other party's bytes are not the message that is due.
    TREFOIL_PFSS_PEER = 9,
}

/// What goes wrong at the boundary.
#[derive(Debug)]
pub(crate) struct CallFailure {
    status: Status,
    message: String,
}

impl CallFailure {
    pub(crate) fn new(status: Status, message: impl fmt::Display) -> Self {
        Self { status, message: message.to_string() }
    }

    pub(crate) fn argument(message: impl fmt::Display) -> Self {
        Self::new(Status::TREFOIL_PFSS_ARGUMENT, message)
    }

    pub(crate) fn state(message: impl fmt::Display) -> Self {
        Self::new(Status::TREFOIL_PFSS_STATE, message)
    }

    /// [`Status::TREFOIL_PFSS_LENGTH`] unless `got` is `expected`.
    pub(crate) fn unless_len(what: &str, expected: usize, got: usize) -> Result<(), Self> {
        if expected == got {
            return Ok(());
        }
        Err(Self::new(Status::TREFOIL_PFSS_LENGTH, format!("expected {expected} {what}, got {got}")))
    }
}

impl From<PfssError> for CallFailure {
    fn from(error: PfssError) -> Self {
        let status = match &error {
            PfssError::Length { .. } => Status::TREFOIL_PFSS_LENGTH,
            PfssError::Bundle(_) => Status::TREFOIL_PFSS_BUNDLE,
            PfssError::Suf(_) | PfssError::Program | PfssError::Kind { .. } | PfssError::OtherWeights { .. } => {
                Status::TREFOIL_PFSS_PROGRAM
            }
            PfssError::ReusedBundle { .. } | PfssError::OpenInputs => Status::TREFOIL_PFSS_STATE,
            PfssError::Backend(_)
            | PfssError::Batch(BatchError::NoStager { .. } | BatchError::ForeignStager { .. }) => {
                Status::TREFOIL_PFSS_BACKEND
            }
            PfssError::Batch(BatchError::Limit { .. } | BatchError::BudgetExceeded { .. }) => {
                Status::TREFOIL_PFSS_LIMIT
            }
            PfssError::Batch(BatchError::Config { .. } | BatchError::Rows { .. }) => Status::TREFOIL_PFSS_ARGUMENT,
            PfssError::Batch(_) => Status::TREFOIL_PFSS_STATE,
            PfssError::Channel(_) => Status::TREFOIL_PFSS_PEER,
            PfssError::Entropy { .. } => Status::TREFOIL_PFSS_INTERNAL,
            _ => Status::TREFOIL_PFSS_ARGUMENT,
        };
        Self::new(status, error)
    }
}

impl From<BatchError> for CallFailure {
    fn from(error: BatchError) -> Self {
        PfssError::from(error).into()
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Runs the body of a call: records why it failed, and lets no panic out.
pub(crate) fn guard(body: impl FnOnce() -> Result<(), CallFailure>) -> Status {
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(CallFailure::new(Status::TREFOIL_PFSS_INTERNAL, text.unwrap_or_else(|| "panic".to_owned())))
    });
    match outcome {
        Ok(()) => Status::TREFOIL_PFSS_OK,
        Err(CallFailure { status, message }) => {
            let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
            LAST_ERROR.with(|last| *last.borrow_mut() = text);
            status
        }
    }
}

/// Why the last failed call of this thread failed.
///
/// Valid until the next call of this thread that fails; empty before the first.
#[unsafe(no_mangle)]
pub extern "C" fn trefoil_pfss_last_error() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_status_with_its_message() {
        let status = guard(|| panic!("lost at {}", 7));
        assert_eq!(status, Status::TREFOIL_PFSS_INTERNAL);
        LAST_ERROR.with(|last| assert_eq!(last.borrow().to_bytes(), b"lost at 7"));
    }
}
