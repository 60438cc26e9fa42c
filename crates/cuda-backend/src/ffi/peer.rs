//! Access of one device to the memory of another, and copies between devices.

use cuda_loader::{
    Status,
    ffi::{self, CUdevice},
};
use cust::device::Device;

use super::{CudaContext, CudaStream};
use crate::error::DriverFault;

/// The driver's facts on one device's access to the memory of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerFacts {
    /// Whether there can be access.
    pub(crate) can_access: bool,
    /// How the link compares with the others of this machine: 0 is the best.
    pub(crate) performance_rank: u32,
    /// Whether atomics work over the link.
    pub(crate) native_atomics: bool,
}

/// Queries the access of `reader`'s device to the memory of `owner`'s device.
pub(crate) fn peer_facts(reader: &CudaContext, owner: &CudaContext) -> Result<PeerFacts, DriverFault> {
    let (from, to) = (device(reader, reader.ordinal())?, device(reader, owner.ordinal())?);
    let mut can = 0;
    // SAFETY: the call writes one integer.
    reader.call("cuDeviceCanAccessPeer", || unsafe { ffi::cuDeviceCanAccessPeer(&raw mut can, from, to) })?;
    let attribute = |number| {
        let mut value = 0;
        reader.call("cuDeviceGetP2PAttribute", || {
            // SAFETY: the call writes one integer.
            unsafe { ffi::cuDeviceGetP2PAttribute(&raw mut value, number, from, to) }
        })?;
        Ok::<_, DriverFault>(u32::try_from(value).unwrap_or(0))
    };
    Ok(PeerFacts {
        can_access: can != 0 && attribute(ffi::p2p::ACCESS_SUPPORTED)? != 0,
        performance_rank: attribute(ffi::p2p::PERFORMANCE_RANK)?,
        native_atomics: attribute(ffi::p2p::NATIVE_ATOMIC_SUPPORTED)? != 0,
    })
}

/// The driver's handle of a device.
fn device(context: &CudaContext, ordinal: u32) -> Result<CUdevice, DriverFault> {
    Ok(context.cust("cuDeviceGet", || Device::get_device(ordinal))?.as_raw())
}

/// Lets work of `reader` touch what `owner` takes from the driver.
pub(crate) fn enable_access(reader: &CudaContext, owner: &CudaContext) -> Result<(), DriverFault> {
    // SAFETY: both contexts are retained.
    match reader.call("cuCtxEnablePeerAccess", || unsafe { ffi::cuCtxEnablePeerAccess(owner.raw(), 0) }) {
        Err(DriverFault::Refused { status: Status::PEER_ACCESS_ALREADY_ENABLED, .. }) => Ok(()),
        other => other,
    }
}

/// Copies from the memory of another device to memory of the stream's device.
///
/// # Safety
/// `target` is `bytes` bytes of memory of the stream's device and `source` is `bytes` bytes of
/// memory of `owner`'s device; both live until the stream has run this.
pub(crate) unsafe fn copy_from_peer(
    stream: &CudaStream,
    target: u64,
    (owner, source): (&CudaContext, u64),
    bytes: u64,
) -> Result<(), DriverFault> {
    let own = stream.context();
    own.call("cuMemcpyPeerAsync", || {
        // SAFETY: both ranges live long enough, by this function's contract; stream and contexts are alive.
        unsafe { ffi::cuMemcpyPeerAsync(target, own.raw(), source, owner.raw(), bytes as usize, stream.raw()) }
    })
}
