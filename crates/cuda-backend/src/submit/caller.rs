//! Copies from and to device memory of the caller's, on a stream of the caller's.
//!
//! A copy is after the work that the caller gave that stream before, and before the work that the
//! caller gives it later. Copies from and to the host run on the stream itself. Copies within the
//! device run on a queue's stream: blocks of memory keep the streams of their uses, and a caller
//! may destroy a stream at any time. A queue's stream never waits for a stream of the caller, whose
//! work may take any time, or wait for later work of the queue. Before a copy from the caller's
//! memory the host waits for that work, and a copy to the caller's memory needs an idle stream.
//!
//! The limit of [`CudaConfig`](crate::CudaConfig) for waits is for work of this crate: the caller's
//! own is waited for without one.

use core::fmt;
use std::{ffi::c_void, sync::Arc};

use backend_api::{BackendError, PlainElement};
use cuda_loader::{Status, ffi::CUstream};

use super::{caller_error::CallerError, host_copy::copy_bytes};
use crate::{
    CudaMut, CudaRef,
    device::DeviceCtx,
    error::DriverFault,
    ffi::{self, CudaStream, DeviceAllocation},
    mem::{BlockAccess, BlockRegion, Content},
    streams::Track,
};

/// The name of [`CallerCopies`] in errors.
const COPY: &str = "copy on a caller's stream";

/// The handle that names the legacy default stream, as null does: `CU_STREAM_LEGACY`.
const LEGACY_HANDLE: usize = 1;

/// A stream of the caller's on an opened device, with access to the caller's memory there.
///
/// Pinned memory that copies go through is wiped afterwards, since the elements may be secrets.
pub struct CallerStream {
    device: Arc<DeviceCtx>,
    stream: CudaStream,
    /// Whether it is the legacy default stream, which waits for other streams.
    is_legacy: bool,
}

impl CallerStream {
    /// The stream with the driver's handle `stream`; null is the legacy default stream.
    ///
    /// # Errors
    /// [`CallerError::OtherContext`] for a stream of another context than the device's primary one,
    /// and the driver's errors.
    ///
    /// # Safety
    /// Until the result is dropped, `stream` is null or a stream of the driver that is not
    /// destroyed.
    pub unsafe fn new(device: &Arc<DeviceCtx>, stream: *mut c_void) -> Result<Self, CallerError> {
        // The legacy stream is of the context in which it is used.
        let is_null = stream.is_null();
        let is_legacy = is_null || stream.addr() == LEGACY_HANDLE;
        // SAFETY: this function's contract.
        let stream = unsafe { CudaStream::borrowed(device.context(), CUstream(stream)) };
        if !is_null && !stream.is_of_its_context()? {
            return Err(CallerError::OtherContext { expected: device.info().ordinal });
        }
        Ok(Self { device: Arc::clone(device), stream, is_legacy })
    }

    /// Whether the `bytes` bytes from `address` on are memory of the device.
    ///
    /// `false` for host memory, pinned memory too. Freed memory is not told from host memory.
    ///
    /// # Errors
    /// [`CallerError::OtherDevice`] and [`CallerError::TooShort`] for device memory that cannot be
    /// used, [`CallerError::MissingFunction`] for any if the driver does not describe it, and the
    /// driver's errors.
    pub fn is_on_device(&self, address: u64, bytes: usize) -> Result<bool, CallerError> {
        let context = self.device.context();
        let found = match ffi::allocation_of(context, address).map_err(CallerError::from) {
            // Host memory needs no function of the driver's.
            Err(lacking @ CallerError::MissingFunction { .. }) => {
                return if ffi::is_allocated(context, address)? { Err(lacking) } else { Ok(false) };
            }
            found => found?,
        };
        let Some(DeviceAllocation { device: got, start, bytes: allocated }) = found else { return Ok(false) };
        let expected = self.device.info().ordinal;
        if u32::try_from(got) != Ok(expected) {
            return Err(CallerError::OtherDevice { expected, got });
        }
        let (expected, got) = (bytes as u64, allocated.saturating_sub(address.saturating_sub(start)));
        if got < expected { Err(CallerError::TooShort { expected, got }) } else { Ok(true) }
    }

    /// Rejects `bytes` bytes at `address` that the stream cannot copy.
    ///
    /// No bytes are accepted at any address.
    ///
    /// # Errors
    /// The errors of [`is_on_device`](Self::is_on_device), [`CallerError::NotOnDevice`] for host
    /// memory, [`CallerError::Capturing`] and [`CallerError::OtherCapture`].
    pub fn check(&self, address: u64, bytes: usize) -> Result<(), CallerError> {
        if bytes == 0 {
            return Ok(());
        }
        if !self.is_on_device(address, bytes)? {
            return Err(CallerError::NotOnDevice { expected: self.device.info().ordinal });
        }
        if self.stream.is_capturing()? { Err(CallerError::Capturing) } else { Ok(()) }
    }

    /// Rejects a thread whose copies a capture of another stream forbids.
    ///
    /// A capture in relaxed mode forbids none. The driver may invalidate a capture that forbids
    /// some. The stream itself is not captured, as [`check`](Self::check) verifies.
    ///
    /// # Errors
    /// [`CallerError::OtherCapture`] and the driver's errors.
    pub fn check_calls(&self) -> Result<(), CallerError> {
        Ok(self.device.events().check_calls(&self.stream)?)
    }

    /// Copies from `address` on the device to `host`, and waits.
    ///
    /// # Errors
    /// [`CallerError::NotMapped`], [`CallerError::OtherCapture`] and the driver's errors. The
    /// content of `host` is then undefined.
    ///
    /// # Safety
    /// [`check`](Self::check) accepted the array. Its memory is not freed before the call returns,
    /// and written during the call only by work that the stream already holds. No capture of the
    /// stream has begun since, nor begins during the call.
    pub unsafe fn read<T: PlainElement>(&self, address: u64, host: &mut [T]) -> Result<(), CallerError> {
        let host: &mut [u8] = bytemuck::cast_slice_mut(host);
        if host.is_empty() {
            return Ok(());
        }
        self.stream.wait_for_callers_work()?;
        let bytes = host.len() as u64;
        match self.device.pinned().acquire(host.len(), Content::Secret)? {
            Some(piece) => {
                // SAFETY: the range is on the device, where it stays by this function's contract; the host does not touch the
                // piece before the event after the copy.
                unsafe { ffi::copy_to_host(&self.stream, piece.start(), address, bytes) }.map_err(of_copy)?;
                copy_bytes(piece.in_flight(&self.stream)?.wait()?.bytes_mut(), host);
            }
            None => {
                // SAFETY: as above; to pageable memory the driver has copied when the call returns.
                unsafe { ffi::copy_to_host(&self.stream, host.as_mut_ptr(), address, bytes) }.map_err(of_copy)?;
                self.stream.synchronize()?;
            }
        }
        Ok(())
    }

    /// Copies `host` to `address` on the device, for the later work of the stream.
    ///
    /// One call of the driver submits the whole copy, so nothing is written on failure, unless the
    /// device is lost.
    ///
    /// # Errors
    /// [`CallerError::NotMapped`], [`CallerError::OtherCapture`] and the driver's errors.
    ///
    /// # Safety
    /// [`check`](Self::check) accepted the array. Its memory is not freed before the stream has run
    /// the copy, and until then used only by work of the stream. No capture of the stream has begun
    /// since, nor begins during the call.
    pub unsafe fn write<T: PlainElement>(&self, address: u64, host: &[T]) -> Result<(), CallerError> {
        let host: &[u8] = bytemuck::cast_slice(host);
        if host.is_empty() {
            return Ok(());
        }
        let bytes = host.len() as u64;
        let Some(mut piece) = self.device.pinned().acquire(host.len(), Content::Secret)? else {
            // SAFETY: the range is on the device, where it stays by this function's contract; from pageable memory the driver
            // has copied when the call returns.
            return unsafe { ffi::copy_to_device(&self.stream, address, host.as_ptr(), bytes) }.map_err(of_copy);
        };
        copy_bytes(host, piece.bytes_mut());
        // SAFETY: the range as above; pinned memory is given up until the copy is done.
        unsafe { ffi::copy_to_device(&self.stream, address, piece.start().cast_const(), bytes) }.map_err(of_copy)?;
        match piece.retire(&self.stream) {
            Err(fault @ DriverFault::Lost(_)) => Err(fault.into()),
            // The copy is submitted: a refused event costs a wait or the piece, and not the result.
            _ => Ok(()),
        }
    }
}

/// Copies within the device, between memory of the caller's and buffers of a queue.
///
/// They run on the queue's stream, in the order of the caller's stream too.
pub struct CallerCopies<'a> {
    caller: &'a CallerStream,
    track: &'a Track,
}

impl<'a> CallerCopies<'a> {
    /// Copies by `track` in the order of `caller`.
    pub(crate) fn new(caller: &'a CallerStream, track: &'a Track) -> Self {
        Self { caller, track }
    }

    /// Copies from `address` on the device to `buffer`, and waits.
    ///
    /// The host waits for the work that the caller's stream holds, without a limit, and then for
    /// the copy, which is after the earlier work of the queue.
    ///
    /// # Errors
    /// [`BackendError::MixedBackend`] for a queue or a buffer of another device,
    /// [`BackendError::Unsupported`] if the queue records, [`CallerError::NotMapped`],
    /// [`CallerError::OtherCapture`] and the driver's errors. The content of `buffer` is then
    /// undefined.
    ///
    /// # Safety
    /// [`check`](CallerStream::check) accepted an array as long as `buffer`, in memory that is no
    /// queue's. Its memory is not freed before the call returns, and written during the call only
    /// by work that the caller's stream already holds. No capture of that stream has begun since,
    /// nor begins during the call.
    pub unsafe fn read<T: PlainElement>(&self, address: u64, buffer: &CudaMut<'_, T>) -> Result<(), CallerError> {
        let Some(region) = buffer.region() else { return Ok(()) };
        self.check(region)?;
        let (events, stream) = (self.track.device().events(), self.track.stream());
        let held = events.record(&self.caller.stream)?;
        held.wait_for_callers_work()?;
        events.give_back(held);
        let at = self.submit(region, BlockAccess::Write, |stream| {
            // SAFETY: the region is alive until the queue's stream has passed this use of it, the array by this function's
            // contract; the two do not overlap, since the array is no memory of a queue.
            unsafe { ffi::copy_on_device(stream, region.address(), address, region.bytes()) }
        })?;
        // Not for work that other threads submit to the queue meanwhile.
        match events.record(stream) {
            Ok(copied) => {
                copied.wait()?;
                events.give_back(copied);
                stream.note_completed(at);
                Ok(())
            }
            Err(fault @ DriverFault::Lost(_)) => Err(fault.into()),
            Err(_) => Ok(stream.synchronize()?),
        }
    }

    /// Copies `buffer` to `address` on the device if the caller's stream is idle.
    ///
    /// The copy is before the later work of that stream. Returns whether it was submitted: a stream
    /// with work, and the legacy stream, which may have work of other streams, get no copy.
    ///
    /// # Errors
    /// As [`read`](Self::read). Nothing is written then, unless the device is lost or the driver
    /// refuses to wait for a copy whose end it did not mark.
    ///
    /// # Safety
    /// [`check`](CallerStream::check) accepted an array as long as `buffer`, in memory that is no
    /// queue's. Its memory is not freed before the caller's stream has passed the copy, and until
    /// then used only by work of this stream, which gets none during the call. No capture of it has
    /// begun since, nor begins during the call.
    pub unsafe fn write<T: PlainElement>(&self, address: u64, buffer: CudaRef<'_, T>) -> Result<bool, CallerError> {
        let Some(region) = buffer.region() else { return Ok(true) };
        self.check(region)?;
        // The queue's stream, which serves other threads, never waits for work of the caller's.
        if self.caller.is_legacy || !self.caller.stream.is_idle()? {
            return Ok(false);
        }
        self.submit(region, BlockAccess::Read, |stream| {
            // SAFETY: as in `read`.
            unsafe { ffi::copy_on_device(stream, address, region.address(), region.bytes()) }
        })?;
        // The copy is submitted: a refused event costs a wait, and not the result.
        let stream = self.track.stream();
        match self.track.device().events().order(stream, &self.caller.stream) {
            Ok(()) => {}
            Err(fault @ DriverFault::Lost(_)) => return Err(fault.into()),
            Err(_) => stream.synchronize()?,
        }
        Ok(true)
    }

    /// Rejects memory and queues of another device, and a queue that records.
    fn check(&self, region: BlockRegion<'_>) -> Result<(), CallerError> {
        if !Arc::ptr_eq(&self.caller.device, self.track.device()) {
            return Err(BackendError::MixedBackend { op: COPY }.into());
        }
        self.track.own(COPY, region.block())?;
        Ok(self.track.permit_waiting(COPY)?)
    }

    /// Submits a copy from or to `region` to the queue's stream, and returns its number there.
    fn submit(
        &self,
        region: BlockRegion<'_>,
        access: BlockAccess,
        copy: impl FnOnce(&CudaStream) -> Result<(), DriverFault>,
    ) -> Result<u64, CallerError> {
        let admitted = self.track.admit(COPY, &[(region.block(), access)])?;
        copy(self.track.stream()).map_err(of_copy)?;
        Ok(admitted.at)
    }
}

impl fmt::Debug for CallerCopies<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerCopies").field("caller", self.caller).finish_non_exhaustive()
    }
}

/// Why the driver refused a copy of an array that lies within one range of addresses.
fn of_copy(fault: DriverFault) -> CallerError {
    match fault {
        DriverFault::Refused { call, status: Status::INVALID_VALUE } => CallerError::NotMapped { call },
        fault => fault.into(),
    }
}

impl fmt::Debug for CallerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerStream").field("stream", &self.stream).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use backend_api::{Buffer, Queue};

    use super::CallerStream;
    use crate::{mem::Content, rig};

    #[test]
    fn pinned_memory_of_copies_in_both_directions_is_wiped() {
        for schedule in ["schedule=eager", "schedule=lazy"] {
            let (_session, queue) = rig::bare(schedule);
            let buf = queue.zeros::<u8>(4096).unwrap();
            queue.finish().unwrap();
            let address = buf.view().region().unwrap().address();
            // SAFETY: the legacy default stream is never destroyed.
            let caller = unsafe { CallerStream::new(queue.device(), null_mut()) }.unwrap();
            let pool = queue.device().pinned();
            let marked = || {
                let mut piece = pool.acquire(4096, Content::Plain).unwrap().unwrap();
                piece.bytes_mut().fill(0xcd);
                piece.start()
            };
            let wiped = |start: *mut u8| {
                let mut piece = pool.acquire(4096, Content::Plain).unwrap().unwrap();
                assert_eq!(piece.start(), start, "the last idle piece is the next one");
                assert_eq!(piece.bytes_mut(), [0; 4096], "{schedule}");
            };
            let start = marked();
            // SAFETY: live memory, which nothing else uses.
            unsafe { caller.write(address, &[0xabu8; 4096]) }.unwrap();
            caller.stream.synchronize().unwrap();
            pool.settle().unwrap();
            wiped(start);
            let (start, mut back) = (marked(), [0u8; 4096]);
            // SAFETY: as above.
            unsafe { caller.read(address, &mut back) }.unwrap();
            assert_eq!(back, [0xab; 4096]);
            wiped(start);
        }
    }
}
