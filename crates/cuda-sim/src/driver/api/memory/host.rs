//! Pinned host memory.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    ffi::c_void,
};

use cuda_loader::{
    Status,
    ffi::{CUdeviceptr, host},
};

use crate::driver::{
    api::{put, register},
    entry::{DriverCall, Needs, call},
    state::{Pinned, queue::WaitGoal},
};

register! {
    cuMemAllocHost_v2 cuMemHostAlloc cuMemFreeHost cuMemHostRegister_v2 cuMemHostUnregister
    cuMemHostGetDevicePointer_v2 cuMemHostGetFlags
}

/// Alignment of pinned memory: a page.
const PAGE: usize = 4096;

/// Makes host memory known to the driver and addressable by every device.
///
/// # Safety
/// The range is valid until it is unpinned.
unsafe fn pin(entry: &mut DriverCall, pointer: *mut u8, pinned: Pinned) -> Result<(), Status> {
    let driver = entry.driver();
    // SAFETY: by this function's contract; the host keeps off memory that work is using, as the driver API demands.
    let mapped = unsafe { driver.memory.map_host(pointer, pinned.bytes as u64) };
    mapped.map_err(|_| Status::HOST_MEMORY_ALREADY_REGISTERED)?;
    driver.pinned.insert(pointer.expose_provenance(), pinned);
    driver.counters.pins += 1;
    Ok(())
}

fn allocate(entry: &mut DriverCall, bytes: usize, flags: u32) -> Result<*mut c_void, Status> {
    entry.refuse_while_capturing()?;
    let context = entry.context()?;
    let layout = Layout::from_size_align(bytes, PAGE).ok().filter(|_| bytes > 0).ok_or(Status::INVALID_VALUE)?;
    // SAFETY: the layout is not empty.
    let pointer = unsafe { alloc_zeroed(layout) };
    if pointer.is_null() {
        return Err(Status::OUT_OF_MEMORY);
    }
    // SAFETY: the memory is new, and given back only after it was unpinned.
    unsafe { pin(entry, pointer, Pinned { context, bytes, flags, layout: Some(layout) }) }?;
    Ok(pointer.cast())
}

unsafe extern "C" fn cuMemAllocHost_v2(out: *mut *mut c_void, bytesize: usize) -> Status {
    call("cuMemAllocHost_v2", Needs::Context, |entry| {
        put!(out, allocate(entry, bytesize, host::PORTABLE | host::DEVICE_MAP)?)
    })
}

unsafe extern "C" fn cuMemHostAlloc(out: *mut *mut c_void, bytesize: usize, flags: u32) -> Status {
    call("cuMemHostAlloc", Needs::Context, |entry| {
        if flags > host::PORTABLE | host::DEVICE_MAP | host::WRITE_COMBINED {
            return Err(Status::INVALID_VALUE);
        }
        put!(out, allocate(entry, bytesize, flags | host::DEVICE_MAP)?)
    })
}

/// Unpins pinned memory once no work can use it.
///
/// `allocated` states which call pinned it.
fn unpin(entry: &mut DriverCall, pointer: *mut c_void, allocated: bool, absent: Status) -> Result<Pinned, Status> {
    entry.context()?;
    entry.refuse_while_capturing()?;
    let address = pointer.addr();
    let driver = entry.driver();
    let pinned = driver.pinned.get(&address).filter(|pinned| pinned.layout.is_some() == allocated).ok_or(absent)?;
    let goal = WaitGoal::Context(pinned.context);
    // The call waits for the device; a loss by that work has been reported.
    let _lost = entry.wait(&goal);
    entry.driver().unpin(address).ok_or(absent)
}

unsafe extern "C" fn cuMemFreeHost(p: *mut c_void) -> Status {
    call("cuMemFreeHost", Needs::Release, |entry| {
        let pinned = unpin(entry, p, true, Status::INVALID_VALUE)?;
        if let Some(layout) = pinned.layout {
            // SAFETY: allocated by `allocate` with this layout, and unpinned just now, so for the first time.
            unsafe { dealloc(p.cast(), layout) };
        }
        Ok(())
    })
}

unsafe extern "C" fn cuMemHostRegister_v2(p: *mut c_void, bytesize: usize, flags: u32) -> Status {
    call("cuMemHostRegister_v2", Needs::Context, |entry| {
        entry.refuse_while_capturing()?;
        let context = entry.context()?;
        if p.is_null() || bytesize == 0 {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the caller keeps the range valid until it unregisters it.
        unsafe { pin(entry, p.cast(), Pinned { context, bytes: bytesize, flags, layout: None }) }
    })
}

unsafe extern "C" fn cuMemHostUnregister(p: *mut c_void) -> Status {
    call("cuMemHostUnregister", Needs::Release, |entry| {
        unpin(entry, p, false, Status::HOST_MEMORY_NOT_REGISTERED).map(drop)
    })
}

unsafe extern "C" fn cuMemHostGetDevicePointer_v2(dptr: *mut CUdeviceptr, p: *mut c_void, flags: u32) -> Status {
    call("cuMemHostGetDevicePointer_v2", Needs::Context, |entry| {
        let found = entry.driver().memory.find(p.addr() as u64).filter(|found| found.device.is_none() && flags == 0);
        found.ok_or(Status::INVALID_VALUE)?;
        put!(dptr, p.addr() as u64)
    })
}

unsafe extern "C" fn cuMemHostGetFlags(flags: *mut u32, p: *mut c_void) -> Status {
    call("cuMemHostGetFlags", Needs::Context, |entry| {
        let pinned = entry.driver().pinned.get(&p.addr()).ok_or(Status::INVALID_VALUE)?;
        let value = pinned.flags;
        put!(flags, value)
    })
}
