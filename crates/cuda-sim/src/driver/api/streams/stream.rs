//! Streams.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use cuda_loader::{
    Status,
    ffi::{CUcontext, CUevent, CUstream, stream as flag},
};

use crate::driver::{
    api::{devices::context::PRIORITIES, put, register},
    entry::{DriverCall, Needs, call},
    handle::{ApiHandle, fresh},
    state::{StreamState, graph::Action, queue::WaitGoal},
};

register! {
    cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamGetPriority cuStreamGetFlags cuStreamGetCtx
    cuStreamWaitEvent cuStreamQuery cuStreamSynchronize
}

fn create(entry: &mut DriverCall, flags: u32, priority: i32) -> Result<CUstream, Status> {
    if flags > flag::NON_BLOCKING {
        return Err(Status::INVALID_VALUE);
    }
    let context = entry.context()?;
    let id = fresh();
    let [least, greatest] = PRIORITIES;
    let stream = StreamState::new(context, flags, priority.clamp(greatest, least), false);
    entry.driver().streams.insert(id, stream);
    Ok(CUstream::of(id))
}

unsafe extern "C" fn cuStreamCreate(out: *mut CUstream, flags: u32) -> Status {
    call("cuStreamCreate", Needs::Context, |entry| put!(out, create(entry, flags, 0)?))
}

unsafe extern "C" fn cuStreamCreateWithPriority(out: *mut CUstream, flags: u32, priority: i32) -> Status {
    call("cuStreamCreateWithPriority", Needs::Context, |entry| put!(out, create(entry, flags, priority)?))
}

unsafe extern "C" fn cuStreamDestroy_v2(stream: CUstream) -> Status {
    call("cuStreamDestroy_v2", Needs::Release, |entry| {
        entry.context()?;
        let driver = entry.driver();
        let state = driver.streams.get(&stream.id()).filter(|stream| !stream.legacy).ok_or(Status::INVALID_HANDLE)?;
        if let Some(capture) = state.capture {
            driver.invalidate(capture);
        }
        // Work that is enqueued still runs; only the handle ends.
        if let Some(stream) = driver.streams.remove(&stream.id())
            && let Some(context) = driver.contexts.get_mut(&stream.context)
        {
            context.ended.join(&stream.clock);
        }
        Ok(())
    })
}

/// Writes something about a stream.
fn read<T>(name: &'static str, stream: CUstream, out: *mut T, value: impl FnOnce(&StreamState) -> T) -> Status {
    call(name, Needs::Context, |entry| {
        let stream = entry.stream(stream)?;
        put!(out, value(&entry.driver().streams[&stream]))
    })
}

unsafe extern "C" fn cuStreamGetPriority(stream: CUstream, priority: *mut i32) -> Status {
    read("cuStreamGetPriority", stream, priority, |stream| stream.priority)
}

unsafe extern "C" fn cuStreamGetFlags(stream: CUstream, flags: *mut u32) -> Status {
    read("cuStreamGetFlags", stream, flags, |stream| stream.flags)
}

unsafe extern "C" fn cuStreamGetCtx(stream: CUstream, ctx: *mut CUcontext) -> Status {
    read("cuStreamGetCtx", stream, ctx, |stream| CUcontext::of(stream.context))
}

unsafe extern "C" fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: u32) -> Status {
    /// The wait becomes a node of the graph instead of a dependency.
    const EXTERNAL: u32 = 1;
    call("cuStreamWaitEvent", Needs::Context, |entry| {
        let stream = entry.stream(stream)?;
        let driver = entry.driver();
        let state = driver.events.get(&event.id()).ok_or(Status::INVALID_HANDLE)?;
        let (captured, recorded) = (state.captured.clone(), state.recorded.clone());
        let capturing = driver.streams[&stream].capture;
        match (capturing, captured) {
            (Some(_), _) if flags == EXTERNAL => driver.capture_action(stream, Action::Wait(event.id())).map(drop),
            (_, Some((capture, nodes))) => driver.capture_wait(stream, capture, &nodes),
            (Some(capture), None) => {
                driver.invalidate(capture);
                Err(Status::STREAM_CAPTURE_ISOLATION)
            }
            (None, None) => {
                if driver.streams[&stream].legacy {
                    driver.refuse_implicit_capture(stream)?;
                }
                if let (Some(stream), Some(recorded)) = (driver.streams.get_mut(&stream), recorded) {
                    stream.waits.push(recorded.task);
                    stream.clock.join(&recorded.clock);
                }
                Ok(())
            }
        }
    })
}

unsafe extern "C" fn cuStreamQuery(stream: CUstream) -> Status {
    call("cuStreamQuery", Needs::Context, |entry| {
        let stream = entry.stream(stream)?;
        entry.refuse_capturing_stream(stream)?;
        let (goal, last) = (WaitGoal::Stream(stream), entry.driver().streams[&stream].tail);
        if !entry.poll(&goal, last) {
            return Err(Status::NOT_READY);
        }
        entry.driver().learn(&goal);
        entry.check()
    })
}

unsafe extern "C" fn cuStreamSynchronize(stream: CUstream) -> Status {
    call("cuStreamSynchronize", Needs::Context, |entry| {
        let stream = entry.stream(stream)?;
        entry.refuse_capturing_stream(stream)?;
        if entry.driver().streams[&stream].legacy {
            entry.refuse_while_capturing()?;
            entry.driver().refuse_implicit_capture(stream)?;
        }
        entry.driver().counters.synchronisations += 1;
        entry.wait(&WaitGoal::Stream(stream))
    })
}
