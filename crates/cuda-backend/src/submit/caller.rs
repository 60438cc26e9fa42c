//! Copies from and to device memory of the caller's, on a stream of the caller's.
//!
//! A copy runs on that stream itself: after the work that the caller gave it before, and before the
//! work that the caller gives it later. The limit of [`CudaConfig`](crate::CudaConfig) for waits is
//! for work of this crate: the caller's own is waited for without one.

use core::fmt;
use std::{ffi::c_void, sync::Arc};

use backend_api::PlainElement;
use cuda_loader::{Status, ffi::CUstream};

use super::{caller_error::CallerError, host_copy::copy_bytes};
use crate::{
    device::DeviceCtx,
    error::DriverFault,
    ffi::{self, CudaStream, DeviceAllocation},
    mem::Content,
};

/// A stream of the caller's on an opened device, with access to the caller's memory there.
///
/// Pinned memory that copies go through is wiped afterwards, since the elements may be secrets.
pub struct CallerStream {
    device: Arc<DeviceCtx>,
    stream: CudaStream,
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
        let is_legacy = stream.is_null();
        // SAFETY: this function's contract.
        let stream = unsafe { CudaStream::borrowed(device.context(), CUstream(stream)) };
        if !is_legacy && !stream.is_of_its_context()? {
            return Err(CallerError::OtherContext { expected: device.info().ordinal });
        }
        Ok(Self { device: Arc::clone(device), stream })
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
    use crate::{CudaConfig, CudaQueue, KernelSource, mem::Content};

    #[test]
    fn pinned_memory_of_copies_in_both_directions_is_wiped() {
        for schedule in ["schedule=eager", "schedule=lazy"] {
            let _session = cuda_sim::driver::simulate(schedule).unwrap();
            let kernels = KernelSource::Texts(Vec::new());
            let queue = CudaQueue::open(CudaConfig { kernels, ..CudaConfig::default() }).unwrap();
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
