//! Device memory, stream-ordered and not.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use cuda_loader::{
    Status,
    ffi::{CUdeviceptr, CUmemoryPool, CUstream},
};

use crate::driver::{
    api::{offer, put, register},
    counters::Report,
    entry::{DriverCall, Needs, call},
    handle::{ApiHandle, Id},
    state::{
        Driver, MemoryBlock, Ordered,
        graph::{Action, Owned},
        queue::WaitGoal,
        work::WorkUnit,
    },
};

register! {
    cuMemGetInfo_v2 cuMemAlloc_v2 cuMemAllocPitch_v2 cuMemFree_v2 cuMemGetAddressRange_v2 cuMemAllocAsync
    cuMemAllocFromPoolAsync cuMemFreeAsync
}

/// Rows of a pitched allocation start at multiples of this.
const PITCH: usize = 512;

/// Reserves memory on the current device.
///
/// If necessary, work that still uses memory is done first.
pub(super) fn reserve(entry: &mut DriverCall, bytes: usize) -> Result<u64, Status> {
    if bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let device = entry.device()?;
    let attempt = |driver: &mut Driver| driver.memory.alloc(device, bytes as u64);
    if let Ok(base) = attempt(entry.driver()) {
        return Ok(base);
    }
    let context = entry.context()?;
    entry.wait(&WaitGoal::Context(context))?;
    attempt(entry.driver()).map_err(|_| Status::OUT_OF_MEMORY)
}

/// Reserves memory for a graph to allocate. It cannot be used before a launch of the graph.
pub(in crate::driver::api) fn reserve_for_graph(entry: &mut DriverCall, bytes: usize) -> Result<Owned, Status> {
    let context = entry.context()?;
    let base = reserve(entry, bytes)?;
    let (driver, bytes) = (entry.driver(), bytes as u64);
    let life = Ordered { pool: None, born: None, uses: Default::default(), released: false };
    driver.blocks.insert(base, MemoryBlock { context, bytes, ordered: Some(life) });
    Ok(Owned { memory: driver.memory.clone(), base, bytes })
}

/// Refuses an address that no graph allocates.
pub(in crate::driver::api) fn check_graph_memory(entry: &mut DriverCall, address: CUdeviceptr) -> Result<(), Status> {
    let life = entry.driver().blocks.get(&address).and_then(|block| block.ordered.as_ref());
    if life.is_some_and(|life| life.pool.is_none()) { Ok(()) } else { Err(Status::INVALID_VALUE) }
}

/// Reserves memory that is not stream-ordered.
fn allocate(entry: &mut DriverCall, bytes: usize) -> Result<u64, Status> {
    entry.refuse_while_capturing()?;
    let context = entry.context()?;
    let base = reserve(entry, bytes)?;
    let driver = entry.driver();
    driver.blocks.insert(base, MemoryBlock { context, bytes: bytes as u64, ordered: None });
    driver.counters.allocations += 1;
    Ok(base)
}

unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Status {
    call("cuMemGetInfo_v2", Needs::Context, |entry| {
        let device = entry.device()?;
        let usage = entry.driver().memory.usage(device);
        put!(free, (usage.capacity - usage.used) as usize)?;
        put!(total, usage.capacity as usize)
    })
}

unsafe extern "C" fn cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize) -> Status {
    call("cuMemAlloc_v2", Needs::Context, |entry| allocate(entry, bytesize).and_then(|base| put!(dptr, base)))
}

unsafe extern "C" fn cuMemAllocPitch_v2(
    dptr: *mut CUdeviceptr,
    pitch: *mut usize,
    width_in_bytes: usize,
    height: usize,
    element_size_bytes: u32,
) -> Status {
    call("cuMemAllocPitch_v2", Needs::Context, |entry| {
        if ![4, 8, 16].contains(&element_size_bytes) {
            return Err(Status::INVALID_VALUE);
        }
        let row = width_in_bytes.checked_next_multiple_of(PITCH).ok_or(Status::INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(Status::INVALID_VALUE)?;
        put!(dptr, allocate(entry, bytes)?)?;
        put!(pitch, row)
    })
}

unsafe extern "C" fn cuMemFree_v2(dptr: CUdeviceptr) -> Status {
    call("cuMemFree_v2", Needs::Release, |entry| {
        entry.context()?;
        if dptr == 0 {
            return Ok(());
        }
        entry.refuse_while_capturing()?;
        let live =
            |block: &MemoryBlock| block.ordered.as_ref().is_none_or(|life| !life.released && life.born.is_some());
        let Some(context) = entry.driver().blocks.get(&dptr).filter(|block| live(block)).map(|block| block.context)
        else {
            let reason = format!("{dptr:#x} is not the start of a live allocation");
            entry.driver().report(Report::Address { call: "cuMemFree_v2", reason });
            return Err(Status::INVALID_VALUE);
        };
        // The call waits for the device; a loss by that work has been reported.
        let lost = entry.wait(&WaitGoal::Context(context));
        let driver = entry.driver();
        driver.counters.frees += 1;
        match driver.blocks.get_mut(&dptr).and_then(|block| block.ordered.as_mut()) {
            // A graph keeps the place of its memory for the next launch.
            Some(life) if life.pool.is_none() => life.released = true,
            _ => {
                if let Some(MemoryBlock { ordered: Some(Ordered { pool: Some(pool), .. }), bytes, .. }) =
                    driver.blocks.remove(&dptr)
                {
                    driver.give_to_pool(pool, bytes);
                }
                driver.forget_block(dptr);
            }
        }
        lost
    })
}

unsafe extern "C" fn cuMemGetAddressRange_v2(base: *mut CUdeviceptr, size: *mut usize, dptr: CUdeviceptr) -> Status {
    call("cuMemGetAddressRange_v2", Needs::Context, |entry| {
        let found = entry.driver().memory.find(dptr).ok_or(Status::NOT_FOUND)?;
        offer!(base, found.base)?;
        offer!(size, found.bytes as usize)
    })
}

/// Allocates from a pool in stream order.
fn allocate_ordered(entry: &mut DriverCall, bytes: usize, pool: Id, stream: CUstream) -> Result<u64, Status> {
    let stream = entry.stream(stream)?;
    let context = entry.context()?;
    let device = entry.driver().pools.get(&pool).ok_or(Status::INVALID_HANDLE)?.device;
    if device != entry.device()? {
        return Err(Status::INVALID_VALUE);
    }
    if entry.driver().streams[&stream].capture.is_some() {
        let owned = reserve_for_graph(entry, bytes)?;
        let base = owned.base;
        entry.driver().capture_action(stream, Action::Alloc(owned.into()))?;
        return Ok(base);
    }
    let base = reserve(entry, bytes)?;
    // The allocation is a task, so that work ordered after the allocation comes after the task.
    entry.enqueue(stream, WorkUnit::Nothing)?;
    let driver = entry.driver();
    let number = driver.streams[&stream].clock.count(stream);
    driver.memory.assign_pool(base, pool);
    let life = Ordered { pool: Some(pool), born: Some((stream, number)), uses: Default::default(), released: false };
    driver.blocks.insert(base, MemoryBlock { context, bytes: bytes as u64, ordered: Some(life) });
    driver.counters.allocations += 1;
    driver.take_from_pool(pool, bytes as u64);
    Ok(base)
}

unsafe extern "C" fn cuMemAllocAsync(dptr: *mut CUdeviceptr, bytesize: usize, stream: CUstream) -> Status {
    call("cuMemAllocAsync", Needs::Context, |entry| {
        let device = entry.device()? as usize;
        let pool = entry.driver().devices[device].current_pool;
        put!(dptr, allocate_ordered(entry, bytesize, pool, stream)?)
    })
}

unsafe extern "C" fn cuMemAllocFromPoolAsync(
    dptr: *mut CUdeviceptr,
    bytesize: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Status {
    call("cuMemAllocFromPoolAsync", Needs::Context, |entry| {
        put!(dptr, allocate_ordered(entry, bytesize, pool.id(), stream)?)
    })
}

unsafe extern "C" fn cuMemFreeAsync(dptr: CUdeviceptr, stream: CUstream) -> Status {
    call("cuMemFreeAsync", Needs::Release, |entry| {
        let stream = entry.stream(stream)?;
        if entry.driver().streams[&stream].capture.is_some() {
            check_graph_memory(entry, dptr)?;
            return entry.driver().capture_action(stream, Action::Free(dptr)).map(drop);
        }
        let driver = entry.driver();
        let clock = driver.clock_of_next(stream);
        let work = driver.release(dptr, &clock)?;
        driver.counters.frees += 1;
        entry.enqueue(stream, work).map(drop)
    })
}
