//! Host memory that the device copies to and from without a detour.

use core::{
    fmt,
    ops::{Deref, DerefMut, Range},
    sync::atomic::{AtomicBool, Ordering},
};
use std::sync::Arc;

use backend_api::{BackendError, BufferMut, BufferRef, Element};
use bytemuck::checked;

use crate::{
    CudaMut, CudaRef, DeviceCtx,
    error::DriverFault,
    ffi,
    mem::{BlockAccess, BlockRegion},
    streams::Track,
};

/// Elements on the host that are [registered](backend_api::Register) with a device.
///
/// No copy uses them while the owner may: the calls that copy wait. If a wait failed, so that a
/// copy may still be running, the memory is never given back to the allocator.
pub struct CudaRegistered<T: Element> {
    device: Arc<DeviceCtx>,
    elements: Vec<T>,
    /// Whether they are registered with the driver: it takes no empty range.
    shown: bool,
    /// Whether a copy from them may still be running.
    in_doubt: AtomicBool,
}

impl<T: Element> CudaRegistered<T> {
    /// Registers `elements` with the device of `track`.
    pub(crate) fn new(track: &Track, mut elements: Vec<T>) -> Result<Self, BackendError> {
        let (device, _relaxed) = (Arc::clone(track.device()), track.relax()?);
        let bytes = size_of_val(elements.as_slice());
        let shown = bytes > 0;
        if shown {
            // SAFETY: the result owns the memory, which it takes back from the driver before it gives it away.
            unsafe { ffi::register(device.context(), elements.as_mut_ptr().cast(), bytes) }
                .map_err(|fault| fault.of_allocation(bytes as u64))?;
        }
        Ok(Self { device, elements, shown, in_doubt: AtomicBool::new(false) })
    }

    /// Copies the elements from `first` on to `dst` and waits.
    pub(crate) fn write(&self, track: &Track, first: usize, dst: &CudaMut<'_, T>) -> Result<(), BackendError> {
        const OP: &str = "write_registered";
        let bytes = self.bytes(first, BufferMut::len(dst))?;
        self.own(OP, track)?;
        let Some(region) = dst.region() else { return Ok(()) };
        track.own(OP, region.block())?;
        let source = self.elements.as_ptr().cast::<u8>().wrapping_add(bytes.start);
        copy_and_wait(track, OP, region, BlockAccess::Write, || {
            // SAFETY: `bytes` lies in the elements, which are borrowed until the copy is done or doubted, and kept from then
            // on; the region is alive until the stream has passed this use of it.
            unsafe { ffi::copy_to_device(track.stream(), region.address(), source, region.bytes()) }
        })
        .map_err(|error| error.note(|| self.in_doubt.store(true, Ordering::Relaxed)))
    }

    /// Copies `src` to the elements from `first` on, waits, and checks every bit pattern.
    pub(crate) fn read(&mut self, track: &Track, src: CudaRef<'_, T>, first: usize) -> Result<(), BackendError> {
        const OP: &str = "read_registered";
        let bytes = self.bytes(first, BufferRef::len(&src))?;
        self.own(OP, track)?;
        let Some(region) = src.region() else { return Ok(()) };
        track.own(OP, region.block())?;
        let target = self.elements.as_mut_ptr().cast::<u8>().wrapping_add(bytes.start);
        let copied = copy_and_wait(track, OP, region, BlockAccess::Read, || {
            // SAFETY: `bytes` lies in the elements, which have no other user until the copy is done
            // and which are given up if that is in doubt; the region is alive until the stream has
            // passed this use of it.
            unsafe { ffi::copy_to_host(track.stream(), target, region.address(), region.bytes()) }
        });
        copied.map_err(|error| error.note(|| self.abandon()))?;
        // SAFETY: `bytes` lies in the elements, whose only owner is `self`, and no copy uses them
        // any more. They may not be values of `T` yet, and no reference to them as `T` exists.
        let arrived = unsafe { core::slice::from_raw_parts_mut(target, bytes.len()) };
        match invalid_element::<T>(arrived) {
            None => Ok(()),
            Some(index) => {
                arrived.fill(0);
                Err(BackendError::Corrupt { index, type_name: core::any::type_name::<T>() })
            }
        }
    }

    /// The elements `first..first + len` as bytes.
    fn bytes(&self, first: usize, len: usize) -> Result<Range<usize>, BackendError> {
        let end = first.saturating_add(len);
        if end > self.elements.len() {
            return Err(BackendError::OutOfRange { start: first, end, len: self.elements.len() });
        }
        Ok(first * size_of::<T>()..end * size_of::<T>())
    }

    /// Ends the registration and takes the elements out.
    fn take(&mut self) -> Vec<T> {
        let mut elements = core::mem::take(&mut self.elements);
        if core::mem::take(&mut self.shown) {
            // Where the driver refuses, the pages stay pinned and nothing else happens: no copy uses them.
            let _refused = ffi::unregister(self.device.context(), elements.as_mut_ptr().cast());
        }
        if core::mem::take(self.in_doubt.get_mut()) {
            let copy = elements.clone();
            core::mem::forget(elements);
            return copy;
        }
        elements
    }

    /// Gives up memory that a copy may still write to.
    fn abandon(&mut self) {
        let len = self.elements.len();
        core::mem::forget(core::mem::replace(&mut self.elements, vec![T::zeroed(); len]));
        self.shown = false;
    }

    /// Fails if they were registered with another device than `track`'s.
    fn own(&self, op: &'static str, track: &Track) -> Result<(), BackendError> {
        if Arc::ptr_eq(&self.device, track.device()) { Ok(()) } else { Err(BackendError::MixedBackend { op }) }
    }
}

impl<T: Element> Deref for CudaRegistered<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T: Element> DerefMut for CudaRegistered<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

impl<T: Element> From<CudaRegistered<T>> for Vec<T> {
    fn from(mut host: CudaRegistered<T>) -> Self {
        host.take()
    }
}

impl<T: Element> Drop for CudaRegistered<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T: Element> fmt::Debug for CudaRegistered<T> {
    /// Length only: the elements may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaRegistered").field("len", &self.elements.len()).finish_non_exhaustive()
    }
}

/// The first of some elements that is not a valid value.
fn invalid_element<T: Element>(bytes: &[u8]) -> Option<usize> {
    if checked::try_cast_slice::<u8, T>(bytes).is_ok() {
        return None;
    }
    bytes.chunks_exact(size_of::<T>()).position(|element| checked::try_pod_read_unaligned::<T>(element).is_err())
}

/// Why a copy failed.
enum CopyError {
    /// It was refused or is done: it does not run.
    Settled(BackendError),
    /// It may still be running.
    InDoubt(DriverFault),
}

impl CopyError {
    /// Converts into the error.
    ///
    /// Calls `doubt` first if the copy may still be running, to take care of the memory.
    fn note(self, doubt: impl FnOnce()) -> BackendError {
        match self {
            Self::Settled(error) => error,
            Self::InDoubt(fault) => {
                doubt();
                fault.into()
            }
        }
    }
}

/// Submits a copy from or to `region` and waits for it.
fn copy_and_wait(
    track: &Track,
    op: &'static str,
    region: BlockRegion<'_>,
    access: BlockAccess,
    copy: impl FnOnce() -> Result<(), DriverFault>,
) -> Result<(), CopyError> {
    track.permit_waiting(op).map_err(CopyError::Settled)?;
    let admitted = track.admit(op, &[(region.block(), access)]).map_err(CopyError::Settled)?;
    let submitted = copy();
    drop(admitted);
    match submitted {
        Ok(()) => {}
        Err(fault @ DriverFault::Refused { .. }) => return Err(CopyError::Settled(fault.into())),
        Err(lost) => return Err(CopyError::InDoubt(lost)),
    }
    let stream = track.stream();
    // A refused wait proves nothing about the copy: another wait may.
    stream.synchronize().map_err(|fault| match stream.synchronize() {
        Ok(()) => CopyError::Settled(fault.into()),
        Err(_) => CopyError::InDoubt(fault),
    })
}
