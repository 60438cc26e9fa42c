//! Copies of every form.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::{ffi::c_void, sync::Arc};

use cuda_loader::{
    Status,
    ffi::{CUcontext, CUdeviceptr, CUstream, Memcpy2D, Memcpy3D, mem_type},
};

use crate::driver::{
    api::{array, get, register},
    counters::Report,
    entry::{DriverCall, Needs, call},
    handle::{ApiHandle, Id},
    spec::Link,
    state::{
        queue::WaitGoal,
        transfer::{Copy, CopyLocation, End},
        work::WorkUnit,
    },
};

register! {
    cuMemcpy cuMemcpyAsync cuMemcpyPeer cuMemcpyPeerAsync cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoH_v2
    cuMemcpyDtoHAsync_v2 cuMemcpyDtoD_v2 cuMemcpyDtoDAsync_v2 cuMemcpy2D_v2 cuMemcpy2DUnaligned_v2
    cuMemcpy2DAsync_v2 cuMemcpy3D_v2 cuMemcpy3DAsync_v2
}

/// One end of a flat copy: an address, by the kind of memory that it was declared to be in.
#[derive(Clone, Copy, Debug)]
enum Said {
    Host(*const c_void),
    Device(CUdeviceptr),
    Either(CUdeviceptr),
}

impl Said {
    fn place(self, entry: &mut DriverCall) -> Result<CopyLocation, Status> {
        match self {
            Self::Host(pointer) if pointer.is_null() => Err(Status::INVALID_VALUE),
            // Its memory is reached through the exposed address when the copy runs.
            Self::Host(pointer) => Ok(CopyLocation::Host(pointer.expose_provenance())),
            Self::Device(address) => Ok(CopyLocation::Device(address)),
            Self::Either(address) => Ok(either(entry, address)),
        }
    }
}

/// The place of an address: device memory, or host memory of either kind.
fn either(entry: &mut DriverCall, address: u64) -> CopyLocation {
    let on_device = entry.driver().memory.find(address).is_some_and(|found| found.device.is_some());
    if on_device { CopyLocation::Device(address) } else { CopyLocation::Host(address as usize) }
}

/// The bytes that host memory holds now.
fn staged(source: usize, bytes: u64) -> Result<CopyLocation, Status> {
    Ok(CopyLocation::Staged(Arc::from(array!(std::ptr::with_exposed_provenance::<u8>(source), bytes as usize)?)))
}

impl DriverCall {
    /// Refuses a copy whose ends are not in live memory, and marks one that a bad link drops.
    pub(in crate::driver::api) fn check_copy(&mut self, copy: &mut Copy) -> Result<(), Status> {
        let name = self.name;
        let driver = self.driver();
        let mut devices = [None, None];
        for (at, end) in [&copy.target, &copy.source].into_iter().enumerate() {
            let Some((first, last)) = end.device_range(copy.width, copy.height, copy.depth) else { continue };
            let found = driver.memory.find(first).filter(|found| last <= found.base + found.bytes);
            let Some(found) = found else {
                let reason = format!("{first:#x}..{last:#x} lies in no live allocation");
                driver.report(Report::Address { call: name, reason });
                return Err(Status::INVALID_VALUE);
            };
            devices[at] = found.device;
        }
        if let [Some(to), Some(from)] = devices
            && to != from
        {
            copy.dropped = driver.spec.link(to, from) == Link::Dropped;
        }
        Ok(())
    }

    /// Whether host memory is pinned.
    fn is_pinned(&mut self, address: usize, bytes: u64) -> bool {
        let pinned = self.driver().pinned.range(..=address).next_back();
        pinned.is_some_and(|(base, block)| address as u64 + bytes <= (base + block.bytes) as u64)
    }

    /// Enqueues a copy on a stream.
    ///
    /// One from pageable memory takes its bytes at once; one to pageable memory is done when this
    /// returns.
    fn copy_async(&mut self, mut copy: Copy, stream: Id) -> Result<(), Status> {
        if copy.bytes() == 0 {
            return Ok(());
        }
        self.check_copy(&mut copy)?;
        let driver = self.driver();
        let capturing = driver.streams[&stream].capture.is_some();
        let work = WorkUnit::Copy(copy.clone());
        if capturing {
            return self.enqueue(stream, work).map(drop);
        }
        let mut finish = false;
        if let CopyLocation::Host(target) = copy.target.place
            && !self.is_pinned(target, copy.width)
        {
            finish = true;
        }
        if let CopyLocation::Host(source) = copy.source.place
            && !self.is_pinned(source, copy.width)
        {
            if copy.is_flat() {
                copy.source.place = staged(source, copy.width)?;
            } else {
                finish = true;
            }
            self.driver().counters.pageable_copies += 1;
        } else if finish {
            self.driver().counters.pageable_copies += 1;
        }
        self.copy_on(copy, stream, finish)
    }

    /// Does a copy on the legacy stream and waits for it if host memory takes part.
    ///
    /// From pageable memory it returns once the bytes have left there: only the order of the legacy
    /// stream determines when they arrive.
    fn copy_now(&mut self, mut copy: Copy) -> Result<(), Status> {
        if copy.bytes() == 0 {
            return Ok(());
        }
        self.refuse_while_capturing()?;
        self.check_copy(&mut copy)?;
        let stream = self.stream(CUstream::NULL)?;
        let between_devices =
            matches!((&copy.target.place, &copy.source.place), (CopyLocation::Device(_), CopyLocation::Device(_)));
        let mut finish = !between_devices;
        if let (CopyLocation::Host(source), CopyLocation::Device(_)) = (&copy.source.place, &copy.target.place)
            && let source = *source
            && copy.is_flat()
            && !self.is_pinned(source, copy.width)
        {
            self.wait(&WaitGoal::Stream(stream))?;
            copy.source.place = staged(source, copy.width)?;
            finish = false;
        }
        self.copy_on(copy, stream, finish)
    }

    fn copy_on(&mut self, copy: Copy, stream: Id, finish: bool) -> Result<(), Status> {
        let work = WorkUnit::Copy(copy);
        self.driver().count(&work, true);
        if let Some(task) = self.enqueue(stream, work)?
            && finish
        {
            let clock = self.driver().clock_of(stream);
            self.wait(&WaitGoal::Tasks(vec![task]))?;
            self.driver().host.join(&clock);
        }
        Ok(())
    }
}

/// Runs a call that copies: on a stream, or on the legacy one, which it waits for.
fn transfer(
    name: &'static str,
    stream: Option<CUstream>,
    copy: impl FnOnce(&mut DriverCall) -> Result<Copy, Status>,
) -> Status {
    call(name, Needs::Context, |entry| {
        let stream = stream.map(|stream| entry.stream(stream)).transpose()?;
        let copy = copy(entry)?;
        match stream {
            Some(stream) => entry.copy_async(copy, stream),
            None => entry.copy_now(copy),
        }
    })
}

/// As [`transfer`], of consecutive bytes.
fn flat(name: &'static str, to: Said, from: Said, bytes: usize, stream: Option<CUstream>) -> Status {
    transfer(name, stream, |entry| Ok(Copy::flat(to.place(entry)?, from.place(entry)?, bytes as u64)))
}

unsafe extern "C" fn cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize) -> Status {
    flat("cuMemcpy", Said::Either(dst), Said::Either(src), byte_count, None)
}

unsafe extern "C" fn cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, byte_count: usize, stream: CUstream) -> Status {
    flat("cuMemcpyAsync", Said::Either(dst), Said::Either(src), byte_count, Some(stream))
}

/// A copy between peers, whose contexts must both live.
///
/// Each address must be in memory of its context's device.
fn between_peers(
    entry: &mut DriverCall,
    ends: [(CUdeviceptr, CUcontext); 2],
    byte_count: usize,
) -> Result<Copy, Status> {
    let driver = entry.driver();
    for (address, context) in ends {
        let device = driver.contexts.get(&context.id()).ok_or(Status::INVALID_CONTEXT)?.device;
        if driver.memory.find(address).is_none_or(|found| found.device != Some(device)) {
            return Err(Status::INVALID_VALUE);
        }
    }
    let [target, source] = ends.map(|(address, _)| CopyLocation::Device(address));
    Ok(Copy::flat(target, source, byte_count as u64))
}

unsafe extern "C" fn cuMemcpyPeer(
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
) -> Status {
    transfer("cuMemcpyPeer", None, |entry| {
        between_peers(entry, [(dst_device, dst_context), (src_device, src_context)], byte_count)
    })
}

unsafe extern "C" fn cuMemcpyPeerAsync(
    dst_device: CUdeviceptr,
    dst_context: CUcontext,
    src_device: CUdeviceptr,
    src_context: CUcontext,
    byte_count: usize,
    stream: CUstream,
) -> Status {
    call("cuMemcpyPeerAsync", Needs::Context, |entry| {
        // Unlike other copies it refuses its ends before the stream.
        let copy = between_peers(entry, [(dst_device, dst_context), (src_device, src_context)], byte_count)?;
        let stream = entry.stream(stream)?;
        entry.copy_async(copy, stream)
    })
}

unsafe extern "C" fn cuMemcpyHtoD_v2(dst_device: CUdeviceptr, src_host: *const c_void, byte_count: usize) -> Status {
    flat("cuMemcpyHtoD_v2", Said::Device(dst_device), Said::Host(src_host), byte_count, None)
}

unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    dst_device: CUdeviceptr,
    src_host: *const c_void,
    byte_count: usize,
    stream: CUstream,
) -> Status {
    flat("cuMemcpyHtoDAsync_v2", Said::Device(dst_device), Said::Host(src_host), byte_count, Some(stream))
}

unsafe extern "C" fn cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: CUdeviceptr, byte_count: usize) -> Status {
    flat("cuMemcpyDtoH_v2", Said::Host(dst_host), Said::Device(src_device), byte_count, None)
}

unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    dst_host: *mut c_void,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Status {
    flat("cuMemcpyDtoHAsync_v2", Said::Host(dst_host), Said::Device(src_device), byte_count, Some(stream))
}

unsafe extern "C" fn cuMemcpyDtoD_v2(dst_device: CUdeviceptr, src_device: CUdeviceptr, byte_count: usize) -> Status {
    flat("cuMemcpyDtoD_v2", Said::Device(dst_device), Said::Device(src_device), byte_count, None)
}

unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    dst_device: CUdeviceptr,
    src_device: CUdeviceptr,
    byte_count: usize,
    stream: CUstream,
) -> Status {
    flat("cuMemcpyDtoDAsync_v2", Said::Device(dst_device), Said::Device(src_device), byte_count, Some(stream))
}

/// The length of a row or a plane, which a record may leave out.
///
/// # Errors
/// `INVALID_VALUE` if `needed` elements from `at` on do not fit.
fn extent(given: usize, at: usize, needed: usize) -> Result<usize, Status> {
    match given {
        0 => Ok(needed),
        _ if at.checked_add(needed).is_none_or(|end| end > given) => Err(Status::INVALID_VALUE),
        _ => Ok(given),
    }
}

/// One end of a copy of rows, as its record specifies.
fn end(
    entry: &mut DriverCall,
    kind: u32,
    (host_address, device_address): (u64, u64),
    [x, y, z]: [usize; 3],
    (pitch, rows): (usize, usize),
    width: usize,
) -> Result<End, Status> {
    let pitch = extent(pitch, x, width)?;
    let plane = pitch.checked_mul(rows).filter(|_| pitch <= i32::MAX as usize).ok_or(Status::INVALID_VALUE)?;
    let offset = z.checked_mul(plane).and_then(|at| at.checked_add(y.checked_mul(pitch)?)?.checked_add(x));
    let offset = offset.ok_or(Status::INVALID_VALUE)? as u64;
    let place = match kind {
        mem_type::HOST => CopyLocation::Host((host_address + offset) as usize),
        mem_type::DEVICE => CopyLocation::Device(device_address + offset),
        mem_type::UNIFIED => either(entry, device_address + offset),
        _ => return Err(Status::NOT_SUPPORTED),
    };
    Ok(End { place, pitch: pitch as u64, plane: plane as u64 })
}

fn rows_2d(entry: &mut DriverCall, from: *const Memcpy2D) -> Result<Copy, Status> {
    let copy = get!(from)?;
    let width = copy.width_in_bytes;
    let source = (copy.src_host.expose_provenance() as u64, copy.src_device);
    let target = (copy.dst_host.expose_provenance() as u64, copy.dst_device);
    let (source_at, target_at) = ([copy.src_x_in_bytes, copy.src_y, 0], [copy.dst_x_in_bytes, copy.dst_y, 0]);
    Ok(Copy {
        source: end(entry, copy.src_memory_type, source, source_at, (copy.src_pitch, copy.height), width)?,
        target: end(entry, copy.dst_memory_type, target, target_at, (copy.dst_pitch, copy.height), width)?,
        width: width as u64,
        height: copy.height as u64,
        depth: 1,
        dropped: false,
    })
}

/// The copy that a record describes.
pub(in crate::driver::api) fn rows_3d(entry: &mut DriverCall, from: *const Memcpy3D) -> Result<Copy, Status> {
    let copy = get!(from)?;
    let width = copy.width_in_bytes;
    let source = (copy.src_host.expose_provenance() as u64, copy.src_device);
    let target = (copy.dst_host.expose_provenance() as u64, copy.dst_device);
    let source_at = [copy.src_x_in_bytes, copy.src_y, copy.src_z];
    let target_at = [copy.dst_x_in_bytes, copy.dst_y, copy.dst_z];
    let source_rows = extent(copy.src_height, copy.src_y, copy.height)?;
    let target_rows = extent(copy.dst_height, copy.dst_y, copy.height)?;
    Ok(Copy {
        source: end(entry, copy.src_memory_type, source, source_at, (copy.src_pitch, source_rows), width)?,
        target: end(entry, copy.dst_memory_type, target, target_at, (copy.dst_pitch, target_rows), width)?,
        width: width as u64,
        height: copy.height as u64,
        depth: copy.depth as u64,
        dropped: false,
    })
}

unsafe extern "C" fn cuMemcpy2D_v2(copy: *const Memcpy2D) -> Status {
    transfer("cuMemcpy2D_v2", None, |entry| rows_2d(entry, copy))
}

unsafe extern "C" fn cuMemcpy2DUnaligned_v2(copy: *const Memcpy2D) -> Status {
    // SAFETY: the same contract.
    unsafe { cuMemcpy2D_v2(copy) }
}

unsafe extern "C" fn cuMemcpy2DAsync_v2(copy: *const Memcpy2D, stream: CUstream) -> Status {
    transfer("cuMemcpy2DAsync_v2", Some(stream), |entry| rows_2d(entry, copy))
}

unsafe extern "C" fn cuMemcpy3D_v2(copy: *const Memcpy3D) -> Status {
    transfer("cuMemcpy3D_v2", None, |entry| rows_3d(entry, copy))
}

unsafe extern "C" fn cuMemcpy3DAsync_v2(copy: *const Memcpy3D, stream: CUstream) -> Status {
    transfer("cuMemcpy3DAsync_v2", Some(stream), |entry| rows_3d(entry, copy))
}
