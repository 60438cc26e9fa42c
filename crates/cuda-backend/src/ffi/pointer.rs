//! Facts on addresses that this crate did not allocate.

use std::{ffi::c_void, ptr::null_mut};

use cuda_loader::{
    Status,
    ffi::{self, mem_type, pointer},
};

use super::CudaContext;
use crate::error::DriverFault;

/// The allocation of device memory that holds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceAllocation {
    /// Ordinal of its device.
    pub(crate) device: i32,
    /// Its first address.
    pub(crate) start: u64,
    /// Its length in bytes.
    pub(crate) bytes: u64,
}

/// The allocation that holds `address`.
///
/// `None` for host memory, pinned memory too, and for an address of no live allocation: the driver
/// does not tell these from ordinary host memory. Managed memory counts as its device's.
pub(crate) fn allocation_of(context: &CudaContext, address: u64) -> Result<Option<DeviceAllocation>, DriverFault> {
    let (mut kind, mut device, mut start, mut bytes) = (0u32, 0i32, 0u64, 0usize);
    let mut names = [pointer::MEMORY_TYPE, pointer::DEVICE_ORDINAL, pointer::RANGE_START_ADDR, pointer::RANGE_SIZE];
    let mut places: [*mut c_void; 4] =
        [(&raw mut kind).cast(), (&raw mut device).cast(), (&raw mut start).cast(), (&raw mut bytes).cast()];
    context.call("cuPointerGetAttributes", || {
        // SAFETY: four attributes, each with a place for a value of its type; the address is only looked up.
        unsafe { ffi::cuPointerGetAttributes(4, names.as_mut_ptr(), places.as_mut_ptr(), address) }
    })?;
    // Zero stands for an unknown address.
    let on_device = ![0, mem_type::HOST].contains(&kind);
    Ok(on_device.then_some(DeviceAllocation { device, start, bytes: bytes as u64 }))
}

/// Whether a live allocation of the driver holds `address`, by a call of older drivers.
///
/// `false` too for a driver without that call. Pinned host memory may count as an allocation.
///
/// # Errors
/// Any other refusal: the address may or may not be in an allocation.
pub(crate) fn is_allocated(context: &CudaContext, address: u64) -> Result<bool, DriverFault> {
    // SAFETY: both results may be null; the address is only looked up.
    let look = || unsafe { ffi::cuMemGetAddressRange_v2(null_mut(), null_mut(), address) };
    match context.call("cuMemGetAddressRange_v2", look) {
        Ok(()) => Ok(true),
        Err(DriverFault::Refused {
            status: Status::INVALID_VALUE | Status::NOT_FOUND | Status::NOT_SUPPORTED, ..
        }) => Ok(false),
        Err(lost) => Err(lost),
    }
}
