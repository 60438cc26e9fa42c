//! Questions about addresses.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::{ffi::c_void, ptr::with_exposed_provenance_mut};

use cuda_loader::{
    Status,
    ffi::{CUcontext, CUdeviceptr, CUmemoryPool, mem_type, pointer as attribute},
};

use crate::driver::{
    api::{array, put, register},
    entry::{DriverCall, Needs, call},
    handle::ApiHandle,
};

register! { cuPointerGetAttribute cuPointerGetAttributes }

/// Writes the default of one attribute, for an address that the driver does not know.
///
/// # Safety
/// `data` is null or valid for a value of the attribute's type.
unsafe fn write_none(data: *mut c_void, which: u32) -> Result<(), Status> {
    match which {
        attribute::CONTEXT | attribute::MEMPOOL_HANDLE | attribute::HOST_POINTER | attribute::RANGE_SIZE => {
            put!(data.cast(), 0usize)
        }
        attribute::DEVICE_POINTER | attribute::BUFFER_ID | attribute::RANGE_START_ADDR => put!(data.cast(), 0u64),
        attribute::MEMORY_TYPE => put!(data.cast(), 0u32),
        attribute::DEVICE_ORDINAL => put!(data.cast(), -2i32),
        attribute::IS_MANAGED | attribute::MAPPED => put!(data.cast(), 0u8),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Writes one attribute of the memory that holds `ptr`.
///
/// # Safety
/// `data` is null or valid for a value of the attribute's type.
unsafe fn write_attribute(
    entry: &mut DriverCall,
    data: *mut c_void,
    which: u32,
    ptr: CUdeviceptr,
) -> Result<(), Status> {
    let driver = entry.driver();
    let found = driver.memory.find(ptr).ok_or(Status::INVALID_VALUE)?;
    let block = driver.blocks.get(&found.base);
    let context = block.map(|block| block.context).or(driver.pinned.get(&(found.base as usize)).map(|pin| pin.context));
    match which {
        attribute::CONTEXT => put!(data.cast(), context.map_or(CUcontext::NULL, CUcontext::of)),
        attribute::MEMORY_TYPE => {
            put!(data.cast(), if found.device.is_some() { mem_type::DEVICE } else { mem_type::HOST })
        }
        attribute::DEVICE_POINTER => put!(data.cast(), ptr),
        attribute::HOST_POINTER if found.device.is_none() => {
            put!(data.cast(), with_exposed_provenance_mut::<c_void>(ptr as usize))
        }
        attribute::BUFFER_ID => put!(data.cast(), found.id),
        attribute::IS_MANAGED => put!(data.cast(), 0u8),
        attribute::DEVICE_ORDINAL => {
            let owner = context.and_then(|context| driver.contexts.get(&context)).map(|context| context.device);
            let device = found.device.or(owner).ok_or(Status::INVALID_VALUE)?;
            put!(data.cast(), device as i32)
        }
        attribute::RANGE_START_ADDR => put!(data.cast(), found.base),
        attribute::RANGE_SIZE => put!(data.cast(), found.bytes as usize),
        attribute::MAPPED => put!(data.cast(), 1u8),
        attribute::MEMPOOL_HANDLE => {
            let pool = block.and_then(|block| block.ordered.as_ref()).and_then(|life| life.pool);
            put!(data.cast(), pool.map_or(CUmemoryPool::NULL, CUmemoryPool::of))
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

unsafe extern "C" fn cuPointerGetAttribute(data: *mut c_void, attribute: u32, ptr: CUdeviceptr) -> Status {
    // SAFETY: the pointer is the call's.
    call("cuPointerGetAttribute", Needs::Context, |entry| unsafe { write_attribute(entry, data, attribute, ptr) })
}

unsafe extern "C" fn cuPointerGetAttributes(
    num_attributes: u32,
    attributes: *mut u32,
    data: *mut *mut c_void,
    ptr: CUdeviceptr,
) -> Status {
    call("cuPointerGetAttributes", Needs::Context, |entry| {
        let names = array!(attributes, num_attributes as usize)?;
        // Unlike the call for one attribute, this one succeeds for any address.
        let is_known = entry.driver().memory.find(ptr).is_some();
        for (which, out) in names.into_iter().zip(array!(data, num_attributes as usize)?) {
            // SAFETY: the pointer is the call's.
            unsafe { if is_known { write_attribute(entry, out, which, ptr) } else { write_none(out, which) } }?;
        }
        Ok(())
    })
}
