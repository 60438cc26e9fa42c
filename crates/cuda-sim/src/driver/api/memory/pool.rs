//! Pools of stream-ordered memory.
//!
//! Memory that a pool takes back is never handed out again, so that a stale use is always noticed;
//! the pool's numbers match a pool that would reuse it.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::ffi::c_void;

use cuda_loader::{
    Status,
    ffi::{
        CUdevice, CUmemoryPool, MemAccessDesc, MemLocation, MemPoolProps, mem_access, mem_location, pool as attribute,
    },
};

use crate::driver::{
    api::{array, devices::device::device, get, put, register},
    entry::{DriverCall, Needs, call},
    handle::{ApiHandle, fresh},
    spec::Link,
    state::PoolState,
};

register! {
    cuDeviceGetDefaultMemPool cuDeviceGetMemPool cuDeviceSetMemPool cuMemPoolCreate cuMemPoolDestroy cuMemPoolTrimTo
    cuMemPoolSetAttribute cuMemPoolGetAttribute cuMemPoolSetAccess cuMemPoolGetAccess
}

fn pool(entry: &mut DriverCall, pool: CUmemoryPool) -> Result<&mut PoolState, Status> {
    entry.driver().pools.get_mut(&pool.id()).ok_or(Status::INVALID_HANDLE)
}

unsafe extern "C" fn cuDeviceGetDefaultMemPool(out: *mut CUmemoryPool, dev: CUdevice) -> Status {
    call("cuDeviceGetDefaultMemPool", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)? as usize;
        put!(out, CUmemoryPool::of(entry.driver().devices[ordinal].default_pool))
    })
}

unsafe extern "C" fn cuDeviceGetMemPool(out: *mut CUmemoryPool, dev: CUdevice) -> Status {
    call("cuDeviceGetMemPool", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)? as usize;
        put!(out, CUmemoryPool::of(entry.driver().devices[ordinal].current_pool))
    })
}

unsafe extern "C" fn cuDeviceSetMemPool(dev: CUdevice, handle: CUmemoryPool) -> Status {
    call("cuDeviceSetMemPool", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)?;
        if pool(entry, handle)?.device != ordinal {
            return Err(Status::INVALID_VALUE);
        }
        entry.driver().devices[ordinal as usize].current_pool = handle.id();
        Ok(())
    })
}

unsafe extern "C" fn cuMemPoolCreate(out: *mut CUmemoryPool, props: *const MemPoolProps) -> Status {
    call("cuMemPoolCreate", Needs::Driver, |entry| {
        let props = get!(props)?;
        if props.alloc_type != 1 || props.location.kind != mem_location::DEVICE {
            return Err(Status::INVALID_VALUE);
        }
        let ordinal = device(entry, props.location.id)?;
        let id = fresh();
        entry.driver().pools.insert(id, PoolState { device: ordinal, reuse: [1; 3], ..PoolState::default() });
        put!(out, CUmemoryPool::of(id))
    })
}

unsafe extern "C" fn cuMemPoolDestroy(handle: CUmemoryPool) -> Status {
    call("cuMemPoolDestroy", Needs::Release, |entry| {
        let device = pool(entry, handle)?.device as usize;
        let driver = entry.driver();
        let state = &mut driver.devices[device];
        if state.default_pool == handle.id() {
            return Err(Status::INVALID_VALUE);
        }
        if state.current_pool == handle.id() {
            state.current_pool = state.default_pool;
        }
        driver.pools.remove(&handle.id());
        Ok(())
    })
}

unsafe extern "C" fn cuMemPoolTrimTo(handle: CUmemoryPool, min_bytes_to_keep: usize) -> Status {
    call("cuMemPoolTrimTo", Needs::Driver, |entry| {
        let pool = pool(entry, handle)?;
        pool.kept = pool.kept.min((min_bytes_to_keep as u64).saturating_sub(pool.used));
        Ok(())
    })
}

unsafe extern "C" fn cuMemPoolSetAttribute(handle: CUmemoryPool, attr: u32, value: *mut c_void) -> Status {
    call("cuMemPoolSetAttribute", Needs::Driver, |entry| {
        let pool = pool(entry, handle)?;
        let wide = || get!(value.cast::<u64>());
        match attr {
            attribute::REUSE_FOLLOW_EVENT_DEPENDENCIES..=attribute::REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
                pool.reuse[attr as usize - 1] = get!(value.cast::<i32>())?;
            }
            attribute::RELEASE_THRESHOLD => pool.threshold = wide()?,
            // High marks may only be reset.
            attribute::RESERVED_MEM_HIGH if wide()? == 0 => pool.reserved_high = pool.used + pool.kept,
            attribute::USED_MEM_HIGH if wide()? == 0 => pool.used_high = pool.used,
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    })
}

unsafe extern "C" fn cuMemPoolGetAttribute(handle: CUmemoryPool, attr: u32, value: *mut c_void) -> Status {
    call("cuMemPoolGetAttribute", Needs::Driver, |entry| {
        let pool = pool(entry, handle)?;
        let number = match attr {
            attribute::REUSE_FOLLOW_EVENT_DEPENDENCIES..=attribute::REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
                return put!(value.cast::<i32>(), pool.reuse[attr as usize - 1]);
            }
            attribute::RELEASE_THRESHOLD => pool.threshold,
            attribute::RESERVED_MEM_CURRENT => pool.used + pool.kept,
            attribute::RESERVED_MEM_HIGH => pool.reserved_high,
            attribute::USED_MEM_CURRENT => pool.used,
            attribute::USED_MEM_HIGH => pool.used_high,
            _ => return Err(Status::INVALID_VALUE),
        };
        put!(value.cast::<u64>(), number)
    })
}

unsafe extern "C" fn cuMemPoolSetAccess(handle: CUmemoryPool, map: *const MemAccessDesc, count: usize) -> Status {
    call("cuMemPoolSetAccess", Needs::Driver, |entry| {
        let owner = pool(entry, handle)?.device;
        for description in array!(map, count)? {
            let accessor = device(entry, description.location.id)?;
            let driver = entry.driver();
            if accessor != owner && driver.spec.link(accessor, owner) == Link::None {
                return Err(Status::INVALID_DEVICE);
            }
            driver.memory.set_pool_access(accessor, handle.id(), description.flags != mem_access::NONE);
            pool(entry, handle)?.access.insert(accessor as i32, description.flags);
        }
        Ok(())
    })
}

unsafe extern "C" fn cuMemPoolGetAccess(flags: *mut u32, handle: CUmemoryPool, location: *mut MemLocation) -> Status {
    call("cuMemPoolGetAccess", Needs::Driver, |entry| {
        let location = get!(location)?;
        let pool = pool(entry, handle)?;
        let own = if pool.device as i32 == location.id { mem_access::READ_WRITE } else { mem_access::NONE };
        put!(flags, pool.access.get(&location.id).copied().unwrap_or(own))
    })
}
