//! The stream in whose order the calls of a thread read and fill arrays in device memory.
//!
//! # Safety
//! As said [at the top](crate#safety).

use core::{cell::RefCell, ffi::c_void};
use std::sync::{Arc, Weak};

use bytemuck::NoUninit;
use runtime::AnyQueue;

use crate::{
    Backend,
    arrays::{Arrays, ResultWords},
    memory::{exclusive, shared},
    status::{CallFailure, Status, guard},
};

/// A stream of a backend's device.
struct ThreadStream {
    /// Does not keep the device open: a thread that ends closes none.
    queue: Weak<AnyQueue>,
    stream: *mut c_void,
}

thread_local! {
    /// The stream that the thread has set. None for host memory alone.
    static STREAM: RefCell<Option<ThreadStream>> = const { RefCell::new(None) };
}

/// Where calls of this thread find arrays.
pub(crate) fn arrays_of_thread() -> Result<Arrays, CallFailure> {
    STREAM.with_borrow(|set| {
        let Some(ThreadStream { queue, stream }) = set else { return Ok(Arrays::Host) };
        let freed = "the backend of this thread's stream was freed: set another stream, or a null backend";
        let queue = queue.upgrade().ok_or_else(|| CallFailure::state(freed))?;
        // SAFETY: whoever set the stream promised that it lives until another is set.
        unsafe { Arrays::on_stream(&queue, *stream) }
    })
}

/// Runs a call that copies shares of a handle's object to an array of the caller's.
///
/// The array is in host memory or in memory of the thread's device. Errors name the handle by
/// `who`, and the elements by `what`.
///
/// # Safety
/// As [`exclusive`] and [`CallerArray::fill`](crate::arrays::CallerArray::fill).
pub(crate) unsafe fn shares_of<H: Send, T: NoUninit>(
    (who, handle): (&str, *mut H),
    (what, to, len): (&'static str, *mut T, usize),
    elements: impl FnOnce(&H) -> Result<&[T], CallFailure>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let object = unsafe { exclusive(who, handle) }?;
        let elements = elements(&object)?;
        CallFailure::unless_len(what, elements.len(), len)?;
        // SAFETY: the caller's promise.
        unsafe { arrays_of_thread()?.find(what, to, len)?.fill(elements) }
    })
}

/// [`shares_of`] for words that may be in device memory.
///
/// # Safety
/// As [`shares_of`].
pub(crate) unsafe fn words_of<H: Send>(
    (who, handle): (&str, *mut H),
    (what, to, len): (&'static str, *mut u64, usize),
    words: impl FnOnce(&H) -> Result<ResultWords<'_>, CallFailure>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let object = unsafe { exclusive(who, handle) }?;
        let words = words(&object)?;
        CallFailure::unless_len(what, words.len(), len)?;
        // SAFETY: the caller's promise.
        unsafe { arrays_of_thread()?.find(what, to, len)?.fill_words(words) }
    })
}

/// Sets the device and the stream of this thread's arrays in device memory.
///
/// `stream` is a `CUstream` or `cudaStream_t` of the primary context of the backend's device; null
/// is the legacy default stream. Calls of this thread then take arrays of values and shares in
/// memory of that device, whichever backend computes. A null backend, as at first in each thread,
/// and a backend on the processor stand for host memory alone, and take a null stream.
///
/// # Safety
/// As said [at the top](crate#safety). The stream lives until another is set. Calls with arrays are
/// refused from the time the backend is freed until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn trefoil_pfss_set_stream(backend: *mut Backend, stream: *mut c_void) -> Status {
    guard(|| {
        if backend.is_null() {
            if !stream.is_null() {
                return Err(CallFailure::argument("stream: expected null without a backend, got a handle"));
            }
            STREAM.set(None);
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let queue = &unsafe { shared("backend", backend) }?.queue;
        // SAFETY: the caller's promise.
        unsafe { Arrays::on_stream(queue, stream) }?; // refuses a stream of another context
        STREAM.set(match &**queue {
            AnyQueue::Cpu(_) => None,
            _ => Some(ThreadStream { queue: Arc::downgrade(queue), stream }),
        });
        Ok(())
    })
}
