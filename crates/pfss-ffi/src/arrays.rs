//! Arrays of the caller's, in host memory or in memory of a device.
//!
//! The driver recognises the addresses of devices: it gives no two devices, nor a device and the
//! host, the same ones. Words go between arrays and shares on the same device without the host, to
//! arrays only if their stream is idle: the device's own work never waits for work of the caller's.

use core::{
    ffi::c_void,
    ops::Deref,
    ptr::{null_mut, slice_from_raw_parts},
};
use std::sync::Arc;

use bytemuck::NoUninit;
use pfss::{DeviceShares, Party, Ring};
use runtime::AnyQueue;
#[cfg(feature = "cuda")]
use runtime::{AnyMut, AnyRef, CallerError, CallerStream};
use zeroize::Zeroizing;

#[cfg(feature = "cuda")]
use crate::status::Status;
use crate::{memory::check, resident::ResidentShares, status::CallFailure};

/// Where calls find arrays.
#[derive(Clone)]
pub(crate) enum Arrays {
    /// In host memory.
    Host,
    /// In memory of the device, in the order of a stream, or in host memory.
    #[cfg(feature = "cuda")]
    Device(DeviceStream),
}

/// A stream of the caller's, and a queue on its device.
#[cfg(feature = "cuda")]
#[derive(Clone)]
pub(crate) struct DeviceStream {
    stream: Arc<CallerStream>,
    queue: Arc<AnyQueue>,
}

/// An array of `n` elements of the caller's. Its pointer and its length are checked.
pub(crate) struct CallerArray<T> {
    what: &'static str,
    data: *mut T,
    n: usize,
    /// The stream that reads and fills it if it is in device memory.
    #[cfg(feature = "cuda")]
    device: Option<DeviceStream>,
}

/// Words of a result, where they are.
pub(crate) enum ResultWords<'a> {
    Host(&'a [u64]),
    Device(&'a ResidentShares<1>),
}

/// The words of an array that a call reads.
pub(crate) enum Input<'a> {
    /// The caller's.
    Host(&'a [u64]),
    /// A copy of device memory, which may be secret.
    #[cfg(feature = "cuda")]
    Device(Zeroizing<Vec<u64>>),
}

impl Arrays {
    /// The arrays of calls on `queue`, in the order of the legacy default stream.
    pub(crate) fn new(queue: &Arc<AnyQueue>) -> Result<Self, CallFailure> {
        // SAFETY: null stands for a stream that is never destroyed.
        unsafe { Self::on_stream(queue, null_mut()) }
    }

    /// The arrays of calls on `queue`, in the order of a stream of its device.
    ///
    /// # Safety
    /// Until the result and its clones are dropped, `stream` is null or a stream of the driver that
    /// is not destroyed.
    pub(crate) unsafe fn on_stream(queue: &Arc<AnyQueue>, stream: *mut c_void) -> Result<Self, CallFailure> {
        match &**queue {
            #[cfg(feature = "cuda")]
            AnyQueue::Cuda(on) => {
                // SAFETY: the caller's promise.
                let stream = unsafe { CallerStream::new(on.device(), stream) };
                let stream = Arc::new(stream.map_err(|error| refused("stream", error))?);
                Ok(Self::Device(DeviceStream { stream, queue: Arc::clone(queue) }))
            }
            _ if stream.is_null() => Ok(Self::Host),
            _ => Err(CallFailure::argument("stream: expected null for a backend without streams, got a handle")),
        }
    }

    /// A queue on the device of the arrays, if they may be on one.
    pub(crate) fn queue(&self) -> Option<&Arc<AnyQueue>> {
        match self {
            Self::Host => None,
            #[cfg(feature = "cuda")]
            Self::Device(device) => Some(&device.queue),
        }
    }

    /// The array of `n` elements at `data`, which is not accessed yet.
    ///
    /// Refuses a pointer that no array can have, and device memory that the stream cannot copy now.
    pub(crate) fn find<T>(&self, what: &'static str, data: *const T, n: usize) -> Result<CallerArray<T>, CallFailure> {
        CallerArray::new(what, data, n)?.located_by(self)
    }

    /// [`find`](Self::find) and [`read`](CallerArray::read) in one.
    ///
    /// # Safety
    /// As [`read`](CallerArray::read).
    pub(crate) unsafe fn input<'a>(
        &self,
        what: &'static str,
        data: *const u64,
        n: usize,
    ) -> Result<Input<'a>, CallFailure> {
        // SAFETY: the caller's promise.
        unsafe { self.find(what, data, n)?.read() }
    }
}

#[cfg(feature = "cuda")]
impl DeviceStream {
    /// Rejects a thread whose copies a capture forbids.
    fn check_calls(&self) -> Result<(), CallerError> {
        match &*self.queue {
            AnyQueue::Cuda(queue) => queue.check_calls(),
            _ => Ok(()),
        }
    }
}

impl<T> CallerArray<T> {
    /// Refuses a pointer that no array can have. The array is in host memory.
    pub(crate) fn new(what: &'static str, data: *const T, n: usize) -> Result<Self, CallFailure> {
        check(what, data, n)?;
        Ok(Self {
            what,
            data: data.cast_mut(),
            n,
            #[cfg(feature = "cuda")]
            device: None,
        })
    }

    /// Recognises device memory, and refuses such memory that the stream cannot copy now.
    #[cfg_attr(not(feature = "cuda"), allow(unused, reason = "all arrays are in host memory"))]
    pub(crate) fn located_by(mut self, arrays: &Arrays) -> Result<Self, CallFailure> {
        #[cfg(feature = "cuda")]
        if let Arrays::Device(device) = arrays
            && self.n > 0
        {
            let checked = device.stream.check(self.data.addr() as u64, self.span().1);
            // The queue's stream answers for every stream, and its event leaves the caller's one idle.
            match checked.and_then(|()| device.check_calls()) {
                Ok(()) => self.device = Some(device.clone()),
                Err(CallerError::NotOnDevice { .. }) => {}
                Err(error) => return Err(refused(self.what, error)),
            }
        }
        Ok(self)
    }

    /// Whether the array is in the memory of the device that `queue` is on.
    ///
    /// Not if that device was opened twice, and the array was found by the other queue.
    #[cfg_attr(not(feature = "cuda"), allow(unused, clippy::unused_self, reason = "there are no devices"))]
    pub(crate) fn is_on(&self, queue: &AnyQueue) -> bool {
        #[cfg(feature = "cuda")]
        if let Some(device) = &self.device {
            return device.queue.shares_memory(queue);
        }
        false
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// First address and length in bytes.
    pub(crate) fn span(&self) -> (usize, usize) {
        (self.data.addr(), self.n * size_of::<T>()) // `new` checked that they fit memory
    }
}

impl CallerArray<u64> {
    /// Reads the array; device memory after the work that the stream holds.
    ///
    /// # Safety
    /// The array is `n` initialised words of host memory, not written during `'a`, or memory of the
    /// device that is written during the call only by work that the stream already holds.
    pub(crate) unsafe fn read<'a>(&self) -> Result<Input<'a>, CallFailure> {
        #[cfg(feature = "cuda")]
        if let Some(device) = &self.device {
            let mut words = Zeroizing::new(vec![0; self.n]);
            // SAFETY: `located_by` checked the array; the rest is the caller's promise.
            let read = unsafe { device.stream.read(self.data.addr() as u64, &mut words) };
            read.map_err(|error| refused(self.what, error))?;
            return Ok(Input::Device(words));
        }
        if self.n == 0 {
            return Ok(Input::Host(&[]));
        }
        // SAFETY: not null, aligned, no longer than memory can be; the rest is the caller's promise.
        Ok(Input::Host(unsafe { &*slice_from_raw_parts(self.data.cast_const(), self.n) }))
    }

    /// The array as shares of `party` in the memory of `queue`.
    ///
    /// They are copied within the device if the array [is there](Self::is_on).
    ///
    /// # Safety
    /// As [`read`](Self::read).
    pub(crate) unsafe fn shares<'q>(
        &self,
        queue: &'q AnyQueue,
        party: Party,
        ring: Ring,
    ) -> Result<DeviceShares<'q, AnyQueue>, CallFailure> {
        #[cfg(feature = "cuda")]
        if let (Some(device), AnyQueue::Cuda(on)) = (&self.device, queue)
            && self.is_on(queue)
        {
            return DeviceShares::written_by(queue, party, ring, self.n, |words| {
                let AnyMut::Cuda(words) = words else { unreachable!("a view of a queue on CUDA") };
                // SAFETY: `located_by` checked the array; the rest is the caller's promise.
                let copied = unsafe { on.copies_for(&device.stream).read(self.data.addr() as u64, &words) };
                copied.map_err(|error| refused(self.what, error))
            });
        }
        // SAFETY: the caller's promise.
        Ok(DeviceShares::upload(queue, party, ring, &unsafe { self.read() }?)?)
    }

    /// [`fill`](Self::fill) with words where they are, in host or device memory.
    ///
    /// Words in device memory go through the host unless the array [is there](Self::is_on) and the
    /// stream is idle. A capture that forbids their copies is refused before any.
    ///
    /// # Safety
    /// As [`fill`](Self::fill).
    pub(crate) unsafe fn fill_words(self, from: ResultWords<'_>) -> Result<(), CallFailure> {
        let [shares] = match from {
            // SAFETY: the caller's promise.
            ResultWords::Host(words) => return unsafe { self.fill(words) },
            ResultWords::Device(resident) => resident.shares(),
        };
        CallFailure::unless_len(self.what, shares.len(), self.n)?;
        check_calls(shares.queue())?;
        // One op takes less than 2^32 elements.
        #[cfg(feature = "cuda")]
        if let (Some(device), AnyQueue::Cuda(on)) = (&self.device, shares.queue())
            && self.is_on(shares.queue())
            && u32::try_from(self.n).is_ok()
        {
            let is_copied = shares.read_by(|words| {
                let AnyRef::Cuda(words) = words else { unreachable!("a view of a queue on CUDA") };
                // SAFETY: `located_by` checked the array, as long as the shares; the rest is the caller's promise.
                let copied = unsafe { on.copies_for(&device.stream).write(self.data.addr() as u64, words) };
                copied.map_err(|error| refused(self.what, error))
            })?;
            if is_copied {
                return Ok(());
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.fill(&Zeroizing::new(shares.download()?)) }
    }
}

impl<T: NoUninit> CallerArray<T> {
    /// Fills the array; device memory in the order of the stream, without waiting.
    ///
    /// # Safety
    /// The array is `n` writable elements of host memory that nothing else refers to, or memory of
    /// the device that lives until the stream has run the copy, and until then is used only by work
    /// of the stream.
    pub(crate) unsafe fn fill(self, from: &[T]) -> Result<(), CallFailure> {
        CallFailure::unless_len(self.what, from.len(), self.n)?;
        #[cfg(feature = "cuda")]
        if let Some(device) = &self.device {
            // SAFETY: `located_by` checked the array; the rest is the caller's promise.
            let written = unsafe { device.stream.write::<u8>(self.data.addr() as u64, bytemuck::cast_slice(from)) };
            return written.map_err(|error| refused(self.what, error));
        }
        if self.n > 0 {
            // SAFETY: not null, aligned, as long as `from`; the rest is the caller's promise.
            unsafe { self.data.copy_from_nonoverlapping(from.as_ptr(), self.n) };
        }
        Ok(())
    }
}

impl ResultWords<'_> {
    /// Number of words.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Host(words) => words.len(),
            Self::Device(resident) => resident.shares()[0].len(),
        }
    }
}

impl Input<'_> {
    /// The words as the library's own, wiped when dropped.
    pub(crate) fn into_words(self) -> Zeroizing<Vec<u64>> {
        match self {
            Self::Host(words) => Zeroizing::new(words.to_vec()),
            #[cfg(feature = "cuda")]
            Self::Device(words) => words,
        }
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

/// Refuses a device whose calls a capture forbids to this thread.
///
/// Work on it would fail after keys are spent.
#[cfg_attr(not(feature = "cuda"), allow(unused, clippy::unnecessary_wraps, reason = "there are no devices"))]
pub(crate) fn check_calls(queue: &AnyQueue) -> Result<(), CallFailure> {
    #[cfg(feature = "cuda")]
    if let AnyQueue::Cuda(queue) = queue {
        queue.check_calls().map_err(|error| refused("backend", error))?;
    }
    Ok(())
}

/// The failure of a call whose argument `what` cannot be used.
#[cfg(feature = "cuda")]
fn refused(what: &str, error: CallerError) -> CallFailure {
    let status = match error {
        CallerError::Backend(_) | CallerError::MissingFunction { .. } => Status::TREFOIL_PFSS_BACKEND,
        CallerError::TooShort { .. } => Status::TREFOIL_PFSS_LENGTH,
        _ => Status::TREFOIL_PFSS_ARGUMENT,
    };
    CallFailure::new(status, format!("{what}: {error}"))
}
