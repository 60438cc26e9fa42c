//! Device attributes, including those that `cust` has no name for.

use cuda_loader::ffi;
use cust::device::Device;

use crate::error::DriverFault;

/// Reads a device attribute by its driver API number; `cust` names only CUDA 8 ones.
pub(crate) fn device_attribute(device: Device, attribute: u32) -> Result<u32, DriverFault> {
    let mut value = 0;
    // SAFETY: the call writes one integer.
    let status = unsafe { ffi::cuDeviceGetAttribute(&raw mut value, attribute, device.as_raw()) };
    status.ok().map_err(|status| DriverFault::Refused { call: "cuDeviceGetAttribute", status })?;
    Ok(u32::try_from(value).unwrap_or(0))
}
