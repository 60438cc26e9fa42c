//! Contexts, primary and other.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use cuda_loader::{
    Status,
    ffi::{CUcontext, CUdevice, limit},
};

use super::device::device;
use crate::driver::{
    api::{offer, put, register},
    entry::{DriverCall, Needs, call, current, with_contexts},
    handle::{ApiHandle, Id},
    state::{ContextState, queue::WaitGoal},
};

register! {
    cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxSetFlags_v2 cuDevicePrimaryCtxGetState
    cuDevicePrimaryCtxReset_v2 cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxSetCurrent
    cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags cuCtxSynchronize cuCtxSetLimit cuCtxGetLimit cuCtxGetCacheConfig
    cuCtxSetCacheConfig cuCtxGetSharedMemConfig cuCtxSetSharedMemConfig cuCtxGetApiVersion cuCtxGetStreamPriorityRange
    cuCtxGetId
}

/// The driver API's version, as contexts report it.
const API_VERSION: u32 = 3020;
/// Stream priorities, least first.
pub(in crate::driver::api) const PRIORITIES: [i32; 2] = [0, -5];

fn known(entry: &mut DriverCall, context: CUcontext) -> Result<Id, Status> {
    let id = context.id();
    if entry.driver().contexts.contains_key(&id) { Ok(id) } else { Err(Status::INVALID_CONTEXT) }
}

/// Writes something about the current context.
fn read<T>(name: &'static str, out: *mut T, value: impl FnOnce(&ContextState) -> T) -> Status {
    call(name, Needs::Context, |entry| {
        let context = entry.context()?;
        put!(out, value(&entry.driver().contexts[&context]))
    })
}

/// Changes something of the current context.
fn change(name: &'static str, change: impl FnOnce(&mut ContextState)) -> Status {
    call(name, Needs::Context, |entry| {
        let context = entry.context()?;
        if let Some(context) = entry.driver().contexts.get_mut(&context) {
            change(context);
        }
        Ok(())
    })
}

/// Ends all work of a context and forgets the context.
fn destroy(entry: &mut DriverCall, context: Id) {
    // The work's own failure is no failure of this call; it has been reported.
    let _lost = entry.wait(&WaitGoal::Context(context));
    entry.driver().destroy_context(context);
}

unsafe extern "C" fn cuDevicePrimaryCtxRetain(ctx: *mut CUcontext, dev: CUdevice) -> Status {
    call("cuDevicePrimaryCtxRetain", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)?;
        let driver = entry.driver();
        let state = &driver.devices[ordinal as usize];
        let (primary, flags) = (state.primary, state.flags);
        let context = primary.unwrap_or_else(|| driver.create_context(ordinal, flags));
        let state = &mut driver.devices[ordinal as usize];
        state.primary = Some(context);
        state.holders += 1;
        put!(ctx, CUcontext::of(context))
    })
}

unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) -> Status {
    call("cuDevicePrimaryCtxRelease_v2", Needs::Contexts, |entry| {
        let ordinal = device(entry, dev)? as usize;
        let state = &mut entry.driver().devices[ordinal];
        let context = state.primary.ok_or(Status::INVALID_CONTEXT)?;
        state.holders -= 1;
        if state.holders == 0 {
            state.primary = None;
            destroy(entry, context);
        }
        Ok(())
    })
}

unsafe extern "C" fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: u32) -> Status {
    call("cuDevicePrimaryCtxSetFlags_v2", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)? as usize;
        let driver = entry.driver();
        driver.devices[ordinal].flags = flags;
        let primary = driver.devices[ordinal].primary;
        if let Some(context) = primary.and_then(|primary| driver.contexts.get_mut(&primary)) {
            context.flags = flags;
        }
        Ok(())
    })
}

unsafe extern "C" fn cuDevicePrimaryCtxGetState(dev: CUdevice, flags: *mut u32, active: *mut i32) -> Status {
    call("cuDevicePrimaryCtxGetState", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)? as usize;
        let state = &entry.driver().devices[ordinal];
        let (now, is_active) = (state.flags, state.primary.is_some());
        put!(flags, now)?;
        put!(active, i32::from(is_active))
    })
}

unsafe extern "C" fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) -> Status {
    call("cuDevicePrimaryCtxReset_v2", Needs::Contexts, |entry| {
        let ordinal = device(entry, dev)? as usize;
        let state = &mut entry.driver().devices[ordinal];
        state.holders = 0;
        if let Some(context) = state.primary.take() {
            destroy(entry, context);
        }
        Ok(())
    })
}

unsafe extern "C" fn cuCtxCreate_v2(ctx: *mut CUcontext, flags: u32, dev: CUdevice) -> Status {
    call("cuCtxCreate_v2", Needs::Driver, |entry| {
        let ordinal = device(entry, dev)?;
        let context = entry.driver().create_context(ordinal, flags);
        with_contexts(|contexts| contexts.push(context));
        put!(ctx, CUcontext::of(context))
    })
}

unsafe extern "C" fn cuCtxDestroy_v2(ctx: CUcontext) -> Status {
    call("cuCtxDestroy_v2", Needs::Contexts, |entry| {
        let context = known(entry, ctx)?;
        if entry.driver().devices.iter().any(|device| device.primary == Some(context)) {
            return Err(Status::INVALID_CONTEXT);
        }
        destroy(entry, context);
        with_contexts(|contexts| {
            if contexts.last() == Some(&context) {
                contexts.pop();
            }
        });
        Ok(())
    })
}

unsafe extern "C" fn cuCtxPushCurrent_v2(ctx: CUcontext) -> Status {
    call("cuCtxPushCurrent_v2", Needs::Contexts, |entry| {
        let context = known(entry, ctx)?;
        with_contexts(|contexts| contexts.push(context));
        Ok(())
    })
}

unsafe extern "C" fn cuCtxPopCurrent_v2(ctx: *mut CUcontext) -> Status {
    call("cuCtxPopCurrent_v2", Needs::Contexts, |_| {
        let context = with_contexts(Vec::pop).ok_or(Status::INVALID_CONTEXT)?;
        offer!(ctx, CUcontext::of(context))
    })
}

unsafe extern "C" fn cuCtxSetCurrent(ctx: CUcontext) -> Status {
    call("cuCtxSetCurrent", Needs::Contexts, |entry| {
        let context = if ctx.is_null() { None } else { Some(known(entry, ctx)?) };
        with_contexts(|contexts| {
            contexts.pop();
            contexts.extend(context);
        });
        Ok(())
    })
}

unsafe extern "C" fn cuCtxGetCurrent(ctx: *mut CUcontext) -> Status {
    call("cuCtxGetCurrent", Needs::Contexts, |_| put!(ctx, current().map_or(CUcontext::NULL, CUcontext::of)))
}

unsafe extern "C" fn cuCtxGetDevice(out: *mut CUdevice) -> Status {
    call("cuCtxGetDevice", Needs::Context, |entry| put!(out, entry.device()? as CUdevice))
}

unsafe extern "C" fn cuCtxGetFlags(flags: *mut u32) -> Status {
    read("cuCtxGetFlags", flags, |context| context.flags)
}

unsafe extern "C" fn cuCtxSynchronize() -> Status {
    call("cuCtxSynchronize", Needs::Context, |entry| {
        entry.refuse_while_capturing()?;
        let context = entry.context()?;
        entry.driver().counters.synchronisations += 1;
        entry.wait(&WaitGoal::Context(context))
    })
}

unsafe extern "C" fn cuCtxSetLimit(which: u32, value: usize) -> Status {
    call("cuCtxSetLimit", Needs::Context, |entry| {
        if which > limit::PERSISTING_L2_CACHE_SIZE {
            return Err(Status::UNSUPPORTED_LIMIT);
        }
        let context = entry.context()?;
        if let Some(context) = entry.driver().contexts.get_mut(&context) {
            context.limits.insert(which, value);
        }
        Ok(())
    })
}

unsafe extern "C" fn cuCtxGetLimit(value: *mut usize, which: u32) -> Status {
    call("cuCtxGetLimit", Needs::Context, |entry| {
        let default = match which {
            limit::STACK_SIZE => 1 << 10,
            limit::PRINTF_FIFO_SIZE => 1 << 20,
            limit::MALLOC_HEAP_SIZE => 8 << 20,
            limit::DEV_RUNTIME_SYNC_DEPTH => 2,
            limit::DEV_RUNTIME_PENDING_LAUNCH_COUNT => 2048,
            limit::MAX_L2_FETCH_GRANULARITY => 128,
            limit::PERSISTING_L2_CACHE_SIZE => 0,
            _ => return Err(Status::UNSUPPORTED_LIMIT),
        };
        let context = entry.context()?;
        put!(value, entry.driver().contexts[&context].limits.get(&which).copied().unwrap_or(default))
    })
}

unsafe extern "C" fn cuCtxGetCacheConfig(config: *mut u32) -> Status {
    read("cuCtxGetCacheConfig", config, |context| context.cache_config)
}

unsafe extern "C" fn cuCtxSetCacheConfig(config: u32) -> Status {
    change("cuCtxSetCacheConfig", |context| context.cache_config = config)
}

unsafe extern "C" fn cuCtxGetSharedMemConfig(config: *mut u32) -> Status {
    read("cuCtxGetSharedMemConfig", config, |context| context.shared_config)
}

unsafe extern "C" fn cuCtxSetSharedMemConfig(config: u32) -> Status {
    change("cuCtxSetSharedMemConfig", |context| context.shared_config = config)
}

unsafe extern "C" fn cuCtxGetApiVersion(ctx: CUcontext, version: *mut u32) -> Status {
    call("cuCtxGetApiVersion", Needs::Driver, |entry| {
        if !ctx.is_null() {
            known(entry, ctx)?;
        }
        put!(version, API_VERSION)
    })
}

unsafe extern "C" fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) -> Status {
    let [lowest, highest] = PRIORITIES;
    call("cuCtxGetStreamPriorityRange", Needs::Context, |_| offer!(least, lowest).and(offer!(greatest, highest)))
}

unsafe extern "C" fn cuCtxGetId(ctx: CUcontext, id: *mut u64) -> Status {
    call("cuCtxGetId", Needs::Driver, |entry| {
        let context = if ctx.is_null() { entry.context()? } else { known(entry, ctx)? };
        put!(id, context as u64)
    })
}
