//! Memory of the device and pinned memory of the host.
//!
//! Addresses of the device are plain numbers: the owners in `mem` keep what they name alive.

use std::{ffi::c_void, ptr, sync::Arc};

use cuda_loader::ffi::{self, CUmemoryPool, MemAccessDesc, MemLocation, MemPoolProps};

use super::{CudaContext, CudaStream};
use crate::error::DriverFault;

/// Free and total bytes of the device.
pub(crate) fn memory_info(context: &CudaContext) -> Result<(u64, u64), DriverFault> {
    let (mut free, mut total) = (0usize, 0usize);
    // SAFETY: the call writes two integers.
    context.call("cuMemGetInfo_v2", || unsafe { ffi::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
    Ok((free as u64, total as u64))
}

/// Takes device memory. May wait for the device.
pub(crate) fn take(context: &CudaContext, bytes: u64) -> Result<u64, DriverFault> {
    let mut address = 0;
    // SAFETY: the call writes one address.
    context.call("cuMemAlloc_v2", || unsafe { ffi::cuMemAlloc_v2(&raw mut address, bytes as usize) })?;
    Ok(address)
}

/// Gives back device memory that [`take`] gave. Waits for the device.
///
/// # Safety
/// Nothing submitted later uses the memory.
pub(crate) unsafe fn free(context: &CudaContext, address: u64) -> Result<(), DriverFault> {
    // SAFETY: the address came from `take` and is not used again, by this function's contract.
    context.call("cuMemFree_v2", || unsafe { ffi::cuMemFree_v2(address) })
}

/// The driver's pool of device memory.
///
/// Its blocks are allocated and freed in the order of a stream's work.
#[derive(Debug)]
pub(crate) struct MemoryPool {
    context: Arc<CudaContext>,
    raw: CUmemoryPool,
}

impl MemoryPool {
    /// A pool that keeps up to `keep_bytes` of free memory.
    pub(crate) fn new(context: &Arc<CudaContext>, keep_bytes: u64) -> Result<Self, DriverFault> {
        let ordinal = i32::try_from(context.ordinal()).unwrap_or(i32::MAX);
        let properties = MemPoolProps::on_device(ordinal);
        let mut raw = CUmemoryPool::NULL;
        // SAFETY: the call reads one record and writes one handle.
        context.call("cuMemPoolCreate", || unsafe { ffi::cuMemPoolCreate(&raw mut raw, &raw const properties) })?;
        let pool = Self { context: Arc::clone(context), raw };
        let mut threshold = keep_bytes;
        context.call("cuMemPoolSetAttribute", || {
            let value: *mut u64 = &raw mut threshold;
            // SAFETY: the pool is alive, and this attribute is read as a 64-bit integer.
            unsafe { ffi::cuMemPoolSetAttribute(pool.raw, ffi::pool::RELEASE_THRESHOLD, value.cast()) }
        })?;
        Ok(pool)
    }

    /// Bytes of device memory that the pool holds, free or not.
    pub(crate) fn held_bytes(&self) -> Result<u64, DriverFault> {
        let mut held = 0u64;
        self.context.call("cuMemPoolGetAttribute", || {
            let value: *mut u64 = &raw mut held;
            // SAFETY: the pool is alive, and this attribute is written as a 64-bit integer.
            unsafe { ffi::cuMemPoolGetAttribute(self.raw, ffi::pool::RESERVED_MEM_CURRENT, value.cast()) }
        })?;
        Ok(held)
    }

    /// Lets the device `ordinal` read and write the memory of the pool.
    pub(crate) fn allow(&self, ordinal: u32) -> Result<(), DriverFault> {
        let id = i32::try_from(ordinal).unwrap_or(i32::MAX);
        let location = MemLocation { kind: ffi::mem_location::DEVICE, id };
        let access = MemAccessDesc { location, flags: ffi::mem_access::READ_WRITE };
        // SAFETY: the pool is alive, and the call reads one record.
        self.context.call("cuMemPoolSetAccess", || unsafe { ffi::cuMemPoolSetAccess(self.raw, &raw const access, 1) })
    }

    /// Gives free memory back to the device.
    pub(crate) fn trim(&self) -> Result<(), DriverFault> {
        // SAFETY: the pool is alive.
        self.context.call("cuMemPoolTrimTo", || unsafe { ffi::cuMemPoolTrimTo(self.raw, 0) })
    }
}

impl Drop for MemoryPool {
    fn drop(&mut self) {
        // SAFETY: the pool is alive and not used again; memory on its way back is freed when it arrives.
        let _refused = self.context.call("cuMemPoolDestroy", || unsafe { ffi::cuMemPoolDestroy(self.raw) });
    }
}

/// Takes memory for the later work of `stream`.
pub(crate) fn take_ordered(pool: &MemoryPool, stream: &CudaStream, bytes: u64) -> Result<u64, DriverFault> {
    let mut address = 0;
    stream.context().call("cuMemAllocFromPoolAsync", || {
        // SAFETY: pool and stream are alive, and the call writes one address.
        unsafe { ffi::cuMemAllocFromPoolAsync(&raw mut address, bytes as usize, pool.raw, stream.raw()) }
    })?;
    Ok(address)
}

/// Gives back memory that [`take_ordered`] gave, after the work that `stream` holds now.
///
/// # Safety
/// No work uses the memory that is not ordered before this call on `stream`.
pub(crate) unsafe fn free_ordered(stream: &CudaStream, address: u64) -> Result<(), DriverFault> {
    // SAFETY: the address came from `take_ordered` and no later work uses it, by this function's contract.
    stream.context().call("cuMemFreeAsync", || unsafe { ffi::cuMemFreeAsync(address, stream.raw()) })
}

/// Fills `bytes` bytes with `value`.
///
/// # Safety
/// `address .. address + bytes` is device memory that lives until the stream has run this.
pub(crate) unsafe fn fill_bytes(stream: &CudaStream, address: u64, value: u8, bytes: u64) -> Result<(), DriverFault> {
    stream.context().call("cuMemsetD8Async", || {
        // SAFETY: the range is device memory that lives long enough, by this function's contract.
        unsafe { ffi::cuMemsetD8Async(address, value, bytes as usize, stream.raw()) }
    })
}

/// Copies from host to device.
///
/// # Safety
/// `source` is `bytes` bytes of host memory and `address` is `bytes` bytes of device memory; both
/// live and the host does not write there until the stream has run this.
pub(crate) unsafe fn copy_to_device(
    stream: &CudaStream,
    address: u64,
    source: *const u8,
    bytes: u64,
) -> Result<(), DriverFault> {
    stream.context().call("cuMemcpyHtoDAsync_v2", || {
        // SAFETY: both ranges live long enough, by this function's contract.
        unsafe { ffi::cuMemcpyHtoDAsync_v2(address, source.cast(), bytes as usize, stream.raw()) }
    })
}

/// Copies from device to host.
///
/// # Safety
/// `target` is `bytes` bytes of host memory and `address` is `bytes` bytes of device memory; both
/// live and the host does not touch the former until the stream has run this.
pub(crate) unsafe fn copy_to_host(
    stream: &CudaStream,
    target: *mut u8,
    address: u64,
    bytes: u64,
) -> Result<(), DriverFault> {
    stream.context().call("cuMemcpyDtoHAsync_v2", || {
        // SAFETY: both ranges live long enough, by this function's contract.
        unsafe { ffi::cuMemcpyDtoHAsync_v2(target.cast(), address, bytes as usize, stream.raw()) }
    })
}

/// Copies within the device.
///
/// # Safety
/// Both ranges are device memory that lives until the stream has run this, and they do not overlap.
pub(crate) unsafe fn copy_on_device(
    stream: &CudaStream,
    target: u64,
    source: u64,
    bytes: u64,
) -> Result<(), DriverFault> {
    stream.context().call("cuMemcpyDtoDAsync_v2", || {
        // SAFETY: both ranges live long enough, by this function's contract.
        unsafe { ffi::cuMemcpyDtoDAsync_v2(target, source, bytes as usize, stream.raw()) }
    })
}

/// Pins memory of the host, so that the device copies from and to it without a detour.
///
/// Slow, and may wait for the device.
///
/// # Safety
/// `start .. start + bytes` is memory that stays allocated until it is unregistered, or for good.
pub(crate) unsafe fn register(context: &CudaContext, start: *mut u8, bytes: usize) -> Result<(), DriverFault> {
    context.call("cuMemHostRegister_v2", || {
        // SAFETY: the range is memory that lives long enough, by this function's contract.
        unsafe { ffi::cuMemHostRegister_v2(start.cast(), bytes, ffi::host::REGISTER_PORTABLE) }
    })
}

/// Ends what [`register`] began at `start`. Waits for the device.
pub(crate) fn unregister(context: &CudaContext, start: *mut u8) -> Result<(), DriverFault> {
    context.call("cuMemHostUnregister", || {
        // SAFETY: the driver only looks up the address, and refuses one that it was not shown.
        unsafe { ffi::cuMemHostUnregister(start.cast()) }
    })
}

/// Pinned host memory, which the device copies to and from without a detour.
///
/// Zeroed when it is made.
#[derive(Debug)]
pub(crate) struct HostMemory {
    context: Arc<CudaContext>,
    start: ptr::NonNull<u8>,
    bytes: usize,
}

// SAFETY: the value is the only owner of its range, like a box.
unsafe impl Send for HostMemory {}
// SAFETY: shared access gives out the address alone.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Pins `bytes` bytes. Slow, and may wait for the device.
    pub(crate) fn pin(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, DriverFault> {
        let mut start: *mut c_void = ptr::null_mut();
        context.call("cuMemHostAlloc", || {
            // SAFETY: the call writes one address.
            unsafe { ffi::cuMemHostAlloc(&raw mut start, bytes, ffi::host::PORTABLE) }
        })?;
        let refused = DriverFault::Refused { call: "cuMemHostAlloc", status: cuda_loader::Status::OUT_OF_MEMORY };
        let start = ptr::NonNull::new(start.cast::<u8>()).ok_or(refused)?;
        // SAFETY: the driver allocated `bytes` bytes from here, and this value is their only owner.
        unsafe { start.as_ptr().write_bytes(0, bytes) };
        Ok(Self { context: Arc::clone(context), start, bytes })
    }

    /// First byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Length in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        let start = self.start.as_ptr().cast();
        // SAFETY: the memory came from the driver and is not used again: the owners hand it back after its last copy.
        let _refused = self.context.call("cuMemFreeHost", || unsafe { ffi::cuMemFreeHost(start) });
    }
}
