//! Handles of backends.
//!
//! # Safety
//! As said [at the top](crate#safety).

use core::ffi::c_char;
use std::{ffi::CString, sync::Arc};

use runtime::{AnyQueue, Choice, Domain, open_for};

use crate::{
    memory::{free, put_handle, shared, text},
    status::{CallFailure, Status, guard},
};

/// An open backend. Threads may share it.
pub struct Backend {
    pub(crate) queue: Arc<AnyQueue>,
    name: CString,
}

#[cfg(feature = "cuda")]
impl Drop for Backend {
    /// Waits for results that are copied within the device.
    fn drop(&mut self) {
        if let AnyQueue::Cuda(queue) = &*self.queue {
            queue.finish_copies().ok(); // a device that fails fills no result
        }
    }
}

/// Opens the backend `name`: `cpu`, `sim`, `gpu` or `auto`.
///
/// Null selects the backend named in the environment. There is no fallback for a backend that
/// cannot be opened.
///
/// # Safety
/// As said [at the top](crate#safety); `name` ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_backend_open(name: *const c_char, backend: *mut *mut Backend) -> Status {
    guard(|| {
        let choice: Option<Choice> = if name.is_null() {
            None
        } else {
            // SAFETY: the caller's promise.
            let name = unsafe { text("name", name) }?;
            Some(name.parse().map_err(CallFailure::argument)?)
        };
        let opened = open_for(Domain::Pfss, choice);
        let (queue, status) = opened.map_err(|error| CallFailure::new(Status::TREFOIL_PFSS_BACKEND, error))?;
        let name = CString::new(status.active.to_string()).unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe { put_handle("backend", Backend { queue: Arc::new(queue), name }, backend) }
    })
}

/// The name of what was opened, a string that lives as long as the backend; null for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_backend_name(backend: *mut Backend) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { shared("backend", backend) }.map_or(core::ptr::null(), |backend| backend.name.as_ptr())
}

/// Frees a backend.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_backend_free(backend: *mut Backend) {
    // SAFETY: the caller's promise.
    unsafe { free(backend) };
}
