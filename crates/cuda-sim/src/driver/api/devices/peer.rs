//! Access of devices to each other's memory.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use cuda_loader::{
    Status,
    ffi::{CUcontext, CUdevice, p2p},
};

use super::device::device;
use crate::driver::{
    api::{put, register},
    entry::{DriverCall, Needs, call},
    handle::ApiHandle,
    spec::Link,
};

register! { cuDeviceCanAccessPeer cuDeviceGetP2PAttribute cuCtxEnablePeerAccess cuCtxDisablePeerAccess }

/// The link between two devices by their ordinals.
fn link(entry: &mut DriverCall, a: CUdevice, b: CUdevice) -> Result<Link, Status> {
    let (a, b) = (device(entry, a)?, device(entry, b)?);
    Ok(if a == b { Link::None } else { entry.driver().spec.link(a, b) })
}

unsafe extern "C" fn cuDeviceCanAccessPeer(can: *mut i32, dev: CUdevice, peer_dev: CUdevice) -> Status {
    call("cuDeviceCanAccessPeer", Needs::Driver, |entry| {
        let reachable = link(entry, dev, peer_dev)? != Link::None;
        put!(can, i32::from(reachable))
    })
}

unsafe extern "C" fn cuDeviceGetP2PAttribute(value: *mut i32, attrib: u32, src: CUdevice, dst: CUdevice) -> Status {
    call("cuDeviceGetP2PAttribute", Needs::Driver, |entry| {
        if src == dst {
            return Err(Status::INVALID_DEVICE);
        }
        let link = link(entry, src, dst)?;
        let number = match attrib {
            p2p::PERFORMANCE_RANK => i32::from(link != Link::NvLink),
            p2p::ACCESS_SUPPORTED | p2p::ARRAY_ACCESS_SUPPORTED => i32::from(link != Link::None),
            p2p::NATIVE_ATOMIC_SUPPORTED => i32::from(link == Link::NvLink),
            _ => return Err(Status::INVALID_VALUE),
        };
        put!(value, number)
    })
}

/// The current device and the device of a peer context.
fn pair(entry: &mut DriverCall, peer: CUcontext) -> Result<(u32, u32), Status> {
    let own = entry.device()?;
    let peer = entry.driver().contexts.get(&peer.id()).ok_or(Status::INVALID_CONTEXT)?.device;
    if own == peer { Err(Status::INVALID_DEVICE) } else { Ok((own, peer)) }
}

unsafe extern "C" fn cuCtxEnablePeerAccess(peer_context: CUcontext, flags: u32) -> Status {
    call("cuCtxEnablePeerAccess", Needs::Context, |entry| {
        let (own, peer) = pair(entry, peer_context)?;
        let driver = entry.driver();
        match driver.spec.link(own, peer) {
            _ if flags != 0 => Err(Status::INVALID_VALUE),
            Link::None => Err(Status::PEER_ACCESS_UNSUPPORTED),
            _ if driver.memory.enable_peer(own, peer) => Ok(()),
            _ => Err(Status::PEER_ACCESS_ALREADY_ENABLED),
        }
    })
}

unsafe extern "C" fn cuCtxDisablePeerAccess(peer_context: CUcontext) -> Status {
    call("cuCtxDisablePeerAccess", Needs::Context, |entry| {
        let (own, peer) = pair(entry, peer_context)?;
        let disabled = entry.driver().memory.disable_peer(own, peer);
        if disabled { Ok(()) } else { Err(Status::PEER_ACCESS_NOT_ENABLED) }
    })
}
