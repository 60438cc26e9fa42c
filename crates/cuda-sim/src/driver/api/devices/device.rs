//! Devices and their attributes.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::ffi::c_char;

use cuda_loader::{
    Status,
    ffi::{CUdevice, Uuid, device as attribute},
};

use crate::driver::{
    api::{put, register, text, write_text},
    entry::{DriverCall, Needs, call},
    limits,
};

register! {
    cuDeviceGet cuDeviceGetCount cuDeviceGetName cuDeviceGetUuid cuDeviceGetUuid_v2 cuDeviceTotalMem_v2
    cuDeviceGetAttribute cuDeviceComputeCapability cuDeviceGetByPCIBusId cuDeviceGetPCIBusId
}

pub(in crate::driver::api) fn device(entry: &mut DriverCall, ordinal: CUdevice) -> Result<u32, Status> {
    let count = entry.driver().devices.len();
    u32::try_from(ordinal).ok().filter(|&at| (at as usize) < count).ok_or(Status::INVALID_DEVICE)
}

unsafe extern "C" fn cuDeviceGet(out: *mut CUdevice, ordinal: i32) -> Status {
    call("cuDeviceGet", Needs::Driver, |entry| device(entry, ordinal).and_then(|device| put!(out, device as CUdevice)))
}

unsafe extern "C" fn cuDeviceGetCount(count: *mut i32) -> Status {
    call("cuDeviceGetCount", Needs::Driver, |entry| put!(count, entry.driver().devices.len() as i32))
}

unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: i32, dev: CUdevice) -> Status {
    call("cuDeviceGetName", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)?;
        let text = format!("Simulated device {ordinal}");
        // SAFETY: the buffer is the caller's, of the length it passes.
        unsafe { write_text(&text, name, usize::try_from(len).unwrap_or(0)) }
    })
}

unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut Uuid, dev: CUdevice) -> Status {
    call("cuDeviceGetUuid", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)?;
        let mut bytes = *b"Trefoil-sim-----";
        bytes[15] = b'0' + ordinal as u8;
        put!(uuid, Uuid { bytes: bytes.map(|byte| byte as c_char) })
    })
}

unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut Uuid, dev: CUdevice) -> Status {
    // SAFETY: the same contract.
    unsafe { cuDeviceGetUuid(uuid, dev) }
}

unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice) -> Status {
    call("cuDeviceTotalMem_v2", Needs::Driver, |entry| {
        device(entry, dev)?;
        put!(bytes, entry.driver().spec.memory as usize)
    })
}

unsafe extern "C" fn cuDeviceGetAttribute(value: *mut i32, attrib: u32, dev: CUdevice) -> Status {
    call("cuDeviceGetAttribute", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)?;
        let driver = entry.driver();
        let number = match attrib {
            attribute::PCI_BUS_ID => ordinal as i32 + 1,
            _ => limits::attribute(attrib, driver.limits, driver.spec.multiprocessors).ok_or(Status::INVALID_VALUE)?,
        };
        put!(value, number)
    })
}

unsafe extern "C" fn cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, dev: CUdevice) -> Status {
    call("cuDeviceComputeCapability", Needs::Driver, |entry| {
        device(entry, dev)?;
        let (x, y) = entry.driver().spec.capability;
        put!(major, x as i32)?;
        put!(minor, y as i32)
    })
}

/// The bus address of a device, as the driver writes it.
fn bus_id(ordinal: u32) -> String {
    format!("0000:{:02X}:00.0", ordinal + 1)
}

unsafe extern "C" fn cuDeviceGetByPCIBusId(dev: *mut CUdevice, pci_bus_id: *const c_char) -> Status {
    call("cuDeviceGetByPCIBusId", Needs::Driver, |entry| {
        let wanted = text!(pci_bus_id)?;
        let count = entry.driver().devices.len() as u32;
        let found = (0..count).find(|&ordinal| bus_id(ordinal).eq_ignore_ascii_case(&wanted));
        put!(dev, found.ok_or(Status::INVALID_DEVICE)? as CUdevice)
    })
}

unsafe extern "C" fn cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: i32, dev: CUdevice) -> Status {
    call("cuDeviceGetPCIBusId", Needs::Driver, |entry| {
        let text = bus_id(device(entry, dev)?);
        // SAFETY: the buffer is the caller's, of the length it passes.
        unsafe { write_text(&text, pci_bus_id, usize::try_from(len).unwrap_or(0)) }
    })
}
