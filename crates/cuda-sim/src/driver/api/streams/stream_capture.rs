//! Capture of streams.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use cuda_loader::{
    Status,
    ffi::{CUgraph, CUgraphNode, CUstream, capture as mode},
};

use crate::driver::{
    api::{array, get, graphs::graph::keep, offer, put, register},
    capture::exchange_thread_mode,
    entry::{DriverCall, Needs, call},
    handle::ApiHandle,
    state::capture::CaptureId,
};

register! {
    cuStreamBeginCapture_v2 cuStreamEndCapture cuStreamIsCapturing cuStreamGetCaptureInfo
    cuStreamUpdateCaptureDependencies cuThreadExchangeStreamCaptureMode
}

unsafe extern "C" fn cuStreamBeginCapture_v2(stream: CUstream, capture_mode: u32) -> Status {
    call("cuStreamBeginCapture_v2", Needs::Context, |entry| {
        if capture_mode > mode::RELAXED {
            return Err(Status::INVALID_VALUE);
        }
        let stream = entry.stream(stream)?;
        entry.driver().begin_capture(stream, capture_mode)
    })
}

unsafe extern "C" fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) -> Status {
    call("cuStreamEndCapture", Needs::Context, |entry| {
        let stream = entry.stream(stream)?;
        let captured = match entry.driver().end_capture(stream) {
            Ok(captured) => captured,
            Err(code) => return put!(graph, CUgraph::NULL).and(Err(code)),
        };
        put!(graph, keep(entry, captured))
    })
}

/// State of a stream's capture, and its number.
///
/// The legacy stream has none while a stream that waits for it captures; that capture stays valid.
fn state(entry: &mut DriverCall, stream: CUstream) -> Result<(u32, CaptureId), Status> {
    let stream = entry.stream(stream)?;
    let driver = entry.driver();
    if driver.streams[&stream].legacy && !driver.implicit_captures(stream).is_empty() {
        return Err(Status::STREAM_CAPTURE_IMPLICIT);
    }
    Ok(match driver.streams[&stream].capture {
        None => (mode::STATUS_NONE, 0),
        Some(id) => match driver.captures.get(&id) {
            Some(capture) if !capture.invalid => (mode::STATUS_ACTIVE, id),
            _ => (mode::STATUS_INVALIDATED, id),
        },
    })
}

unsafe extern "C" fn cuStreamIsCapturing(stream: CUstream, capture_status: *mut u32) -> Status {
    call("cuStreamIsCapturing", Needs::Context, |entry| {
        let (status, _) = state(entry, stream)?;
        put!(capture_status, status)
    })
}

unsafe extern "C" fn cuStreamGetCaptureInfo(stream: CUstream, status_out: *mut u32, id_out: *mut u64) -> Status {
    call("cuStreamGetCaptureInfo", Needs::Context, |entry| {
        let (status, id) = state(entry, stream)?;
        put!(status_out, status)?;
        offer!(id_out, id)
    })
}

unsafe extern "C" fn cuStreamUpdateCaptureDependencies(
    stream: CUstream,
    dependencies: *mut CUgraphNode,
    num_dependencies: usize,
    flags: u32,
) -> Status {
    /// Replaces the dependencies of the next node instead of adding to them.
    const SET: u32 = 1;
    call("cuStreamUpdateCaptureDependencies", Needs::Context, |entry| {
        let stream = entry.stream(stream)?;
        let nodes: Vec<_> = array!(dependencies, num_dependencies)?.into_iter().map(ApiHandle::id).collect();
        let capture = entry.driver().active_capture(stream)?;
        if flags > SET || nodes.iter().any(|node| !capture.graph.nodes.contains_key(node)) {
            return Err(Status::INVALID_VALUE);
        }
        let tails = capture.tails.entry(stream).or_default();
        if flags == SET {
            tails.clear();
        }
        tails.extend(nodes);
        Ok(())
    })
}

unsafe extern "C" fn cuThreadExchangeStreamCaptureMode(exchanged: *mut u32) -> Status {
    call("cuThreadExchangeStreamCaptureMode", Needs::Driver, |_| {
        let new = get!(exchanged)?;
        if new > mode::RELAXED {
            return Err(Status::INVALID_VALUE);
        }
        put!(exchanged, exchange_thread_mode(new))
    })
}
