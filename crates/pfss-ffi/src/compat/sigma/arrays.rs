//! Arrays of words of the caller's, in host memory or in memory of the context's device.
//!
//! The driver recognises the addresses of devices: it gives no two devices, nor a device and the
//! host, the same ones.

use core::{ffi::c_void, ops::Deref, ptr::null_mut};
#[cfg(feature = "cuda")]
use std::sync::Arc;

use runtime::AnyQueue;
#[cfg(feature = "cuda")]
use runtime::{CallerError, CallerStream};
#[cfg(feature = "cuda")]
use zeroize::Zeroizing;

#[cfg(feature = "cuda")]
use crate::status::Status;
use crate::{
    memory::{array, fill},
    status::CallFailure,
};

/// Where a context finds arrays.
#[derive(Clone)]
pub(super) enum Arrays {
    /// In host memory.
    Host,
    /// In memory of the device, in the order of a stream, or in host memory.
    #[cfg(feature = "cuda")]
    Device(Arc<CallerStream>),
}

/// An array that a call reads.
pub(super) enum Input<'a> {
    /// The caller's.
    Host(&'a [u64]),
    /// A copy of device memory, which may be secret.
    #[cfg(feature = "cuda")]
    Device(Zeroizing<Vec<u64>>),
}

/// An array that a call fills.
pub(super) struct Output {
    what: &'static str,
    data: *mut u64,
    n: usize,
    /// The stream that fills it if it is in device memory.
    #[cfg(feature = "cuda")]
    stream: Option<Arc<CallerStream>>,
}

impl Arrays {
    /// The arrays of a context on `queue`, in the order of the legacy default stream.
    pub(super) fn new(queue: &AnyQueue) -> Result<Self, CallFailure> {
        // SAFETY: null stands for a stream that is never destroyed.
        unsafe { Self::on_stream(queue, null_mut()) }
    }

    /// The arrays of a context on `queue`, in the order of a stream of its device.
    ///
    /// # Safety
    /// Until the result and its clones are dropped, `stream` is null or a stream of the driver that
    /// is not destroyed.
    pub(super) unsafe fn on_stream(queue: &AnyQueue, stream: *mut c_void) -> Result<Self, CallFailure> {
        match queue {
            #[cfg(feature = "cuda")]
            AnyQueue::Cuda(queue) => {
                // SAFETY: the caller's promise.
                let stream = unsafe { CallerStream::new(queue.device(), stream) };
                Ok(Self::Device(Arc::new(stream.map_err(|error| refused("stream", error))?)))
            }
            _ if stream.is_null() => Ok(Self::Host),
            _ => Err(CallFailure::argument("stream: expected null for a backend without streams, got a handle")),
        }
    }

    /// Reads the `n` words at `data`, which were checked as an array.
    ///
    /// # Safety
    /// As of [`array`], or `data` is memory of the device that is written meanwhile only by work
    /// that the stream already holds.
    pub(super) unsafe fn input<'a>(
        &self,
        what: &'static str,
        data: *const u64,
        n: usize,
    ) -> Result<Input<'a>, CallFailure> {
        #[cfg(feature = "cuda")]
        if let Some(stream) = self.stream_of(what, data, n)? {
            let mut words = Zeroizing::new(vec![0; n]);
            // SAFETY: the caller's promise.
            unsafe { stream.read(data.addr() as u64, &mut words) }.map_err(|error| refused(what, error))?;
            return Ok(Input::Device(words));
        }
        // SAFETY: host memory, by the caller's promise.
        Ok(Input::Host(unsafe { array(what, data, n) }?))
    }

    /// The place for `n` words at `data`, which were checked as an array.
    pub(super) fn output(&self, what: &'static str, data: *mut u64, n: usize) -> Result<Output, CallFailure> {
        Ok(Output {
            what,
            data,
            n,
            #[cfg(feature = "cuda")]
            stream: self.stream_of(what, data, n)?.cloned(),
        })
    }

    /// The stream for an array in device memory; `None` for host memory.
    #[cfg(feature = "cuda")]
    fn stream_of(&self, what: &str, data: *const u64, n: usize) -> Result<Option<&Arc<CallerStream>>, CallFailure> {
        let Self::Device(stream) = self else { return Ok(None) };
        let on_device = n > 0
            && stream.is_on_device(data.addr() as u64, n * size_of::<u64>()).map_err(|error| refused(what, error))?;
        Ok(on_device.then_some(stream))
    }
}

impl Deref for Input<'_> {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        match self {
            Self::Host(words) => words,
            #[cfg(feature = "cuda")]
            Self::Device(words) => words,
        }
    }
}

impl Output {
    /// Fills the array; device memory in the order of the stream, without waiting.
    ///
    /// # Safety
    /// As of [`fill`], or the array is memory of the device that lives until the stream has run
    /// this, and until then is used only by work of the stream.
    pub(super) unsafe fn fill(self, from: &[u64]) -> Result<(), CallFailure> {
        #[cfg(feature = "cuda")]
        if let Some(stream) = &self.stream {
            CallFailure::unless_len(self.what, from.len(), self.n)?;
            // SAFETY: the caller's promise.
            let written = unsafe { stream.write(self.data.addr() as u64, from) };
            return written.map_err(|error| refused(self.what, error));
        }
        // SAFETY: host memory, by the caller's promise.
        unsafe { fill(self.what, from, self.data, self.n) }
    }
}

/// The failure of a call whose argument `what` cannot be used.
#[cfg(feature = "cuda")]
fn refused(what: &str, error: CallerError) -> CallFailure {
    let status = match error {
        CallerError::Backend(_) => Status::TREFOIL_PFSS_BACKEND,
        CallerError::TooShort { .. } => Status::TREFOIL_PFSS_LENGTH,
        _ => Status::TREFOIL_PFSS_ARGUMENT,
    };
    CallFailure::new(status, format!("{what}: {error}"))
}
