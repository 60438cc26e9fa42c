//! Events.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use cuda_loader::{
    Status,
    ffi::{CUevent, CUstream, event as flag},
};

use crate::driver::{
    api::{put, register},
    entry::{DriverCall, Needs, call},
    handle::{ApiHandle, fresh},
    state::{
        EventState,
        graph::Action,
        queue::{EventRecord, WaitGoal},
        work::WorkUnit,
    },
};

register! {
    cuEventCreate cuEventRecord cuEventRecordWithFlags cuEventQuery cuEventSynchronize cuEventDestroy_v2
    cuEventElapsedTime
}

fn event(entry: &mut DriverCall, handle: CUevent) -> Result<&mut EventState, Status> {
    entry.driver().events.get_mut(&handle.id()).ok_or(Status::INVALID_HANDLE)
}

unsafe extern "C" fn cuEventCreate(out: *mut CUevent, flags: u32) -> Status {
    call("cuEventCreate", Needs::Context, |entry| {
        let alone = flags & flag::INTERPROCESS != 0 && flags & flag::DISABLE_TIMING == 0;
        if flags > flag::BLOCKING_SYNC | flag::DISABLE_TIMING | flag::INTERPROCESS || alone {
            return Err(Status::INVALID_VALUE);
        }
        let context = entry.context()?;
        let id = fresh();
        entry.driver().events.insert(id, EventState { context, flags, ..EventState::default() });
        put!(out, CUevent::of(id))
    })
}

fn record(entry: &mut DriverCall, handle: CUevent, stream: CUstream, external: bool) -> Result<(), Status> {
    let stream = entry.stream(stream)?;
    let context = event(entry, handle)?.context;
    let driver = entry.driver();
    if driver.streams[&stream].context != context {
        return Err(Status::INVALID_HANDLE);
    }
    if let Some(id) = driver.streams[&stream].capture {
        if external {
            return driver.capture_action(stream, Action::Record(handle.id())).map(drop);
        }
        let nodes = driver.active_capture(stream)?.tails.get(&stream).cloned().unwrap_or_default();
        let event = event(entry, handle)?;
        event.captured = Some((id, nodes));
        event.recorded = None;
        return Ok(());
    }
    if driver.streams[&stream].legacy {
        driver.refuse_implicit_capture(stream)?;
    }
    let effect = entry.effect;
    let driver = entry.driver();
    let task = driver.submit(stream, WorkUnit::Record(handle.id()), effect);
    let clock = driver.streams[&stream].clock.clone();
    let event = event(entry, handle)?;
    event.captured = None;
    event.time = None;
    event.recorded = Some(EventRecord { task, clock });
    entry.settle();
    Ok(())
}

unsafe extern "C" fn cuEventRecord(event: CUevent, stream: CUstream) -> Status {
    call("cuEventRecord", Needs::Context, |entry| record(entry, event, stream, false))
}

unsafe extern "C" fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: u32) -> Status {
    call("cuEventRecordWithFlags", Needs::Context, |entry| {
        if flags > 1 { Err(Status::INVALID_VALUE) } else { record(entry, event, stream, flags == 1) }
    })
}

/// The last record of an event that may be asked about.
fn recorded(entry: &mut DriverCall, handle: CUevent) -> Result<Option<EventRecord>, Status> {
    let state = event(entry, handle)?;
    let (captured, recorded) = (state.captured.as_ref().map(|(id, _)| *id), state.recorded.clone());
    if let Some(id) = captured {
        entry.driver().invalidate(id);
        return Err(Status::CAPTURED_EVENT);
    }
    Ok(recorded)
}

unsafe extern "C" fn cuEventQuery(handle: CUevent) -> Status {
    call("cuEventQuery", Needs::Context, |entry| {
        let Some(recorded) = recorded(entry, handle)? else { return Ok(()) };
        entry.refuse_while_capturing()?;
        if !entry.poll(&WaitGoal::Tasks(vec![recorded.task]), Some(recorded.task)) {
            return Err(Status::NOT_READY);
        }
        entry.driver().host.join(&recorded.clock);
        entry.check()
    })
}

unsafe extern "C" fn cuEventSynchronize(handle: CUevent) -> Status {
    call("cuEventSynchronize", Needs::Context, |entry| {
        let Some(recorded) = recorded(entry, handle)? else { return Ok(()) };
        entry.refuse_while_capturing()?;
        entry.driver().counters.synchronisations += 1;
        entry.wait(&WaitGoal::Tasks(vec![recorded.task]))?;
        entry.driver().host.join(&recorded.clock);
        Ok(())
    })
}

unsafe extern "C" fn cuEventDestroy_v2(handle: CUevent) -> Status {
    call("cuEventDestroy_v2", Needs::Release, |entry| {
        entry.context()?;
        entry.driver().events.remove(&handle.id()).map(drop).ok_or(Status::INVALID_HANDLE)
    })
}

unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) -> Status {
    call("cuEventElapsedTime", Needs::Context, |entry| {
        let mut times = [0; 2];
        for (time, handle) in times.iter_mut().zip([start, end]) {
            let pending = recorded(entry, handle)?.is_some();
            let event = event(entry, handle)?;
            if event.flags & flag::DISABLE_TIMING != 0 || !pending {
                return Err(Status::INVALID_HANDLE);
            }
            *time = event.time.ok_or(Status::NOT_READY)?;
        }
        // Simulated nanoseconds fit the 52 bits of an f64 for weeks.
        put!(milliseconds, ((times[1] as f64 - times[0] as f64) / 1e6) as f32)
    })
}
