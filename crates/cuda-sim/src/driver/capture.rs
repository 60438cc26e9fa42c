//! Capture of streams into graphs: what begins, joins, breaks and ends one.

use std::{cell::Cell, thread};

use cuda_loader::{Status, ffi::capture as mode};
use litemap::LiteMap;

use super::{
    entry::DriverCall,
    handle::Id,
    state::{
        Driver,
        capture::{Capture, CaptureId},
        graph::{Action, Graph},
        work::WorkUnit,
    },
};

thread_local! {
    /// The thread's own strictness with calls that a capture cannot hold.
    static THREAD_MODE: Cell<u32> = const { Cell::new(mode::GLOBAL) };
}

/// Exchanges the thread's mode; the former one.
pub(super) fn exchange_thread_mode(new: u32) -> u32 {
    THREAD_MODE.replace(new)
}

impl DriverCall {
    /// Rejects a call that waits for or changes work that captures cannot record.
    ///
    /// It invalidates the captures that the call would harm.
    pub(super) fn refuse_while_capturing(&mut self) -> Result<(), Status> {
        let own = thread::current().id();
        let thread_mode = THREAD_MODE.get();
        if thread_mode == mode::RELAXED {
            return Ok(());
        }
        let harms = |capture: &Capture| {
            capture.thread == own && capture.mode != mode::RELAXED
                || thread_mode == mode::GLOBAL && capture.thread != own && capture.mode == mode::GLOBAL
        };
        let mut refused = false;
        for (_, capture) in self.driver().captures.iter_mut().filter(|(_, capture)| harms(capture)) {
            capture.invalid = true;
            refused = true;
        }
        if refused { Err(Status::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }

    /// Refuses to wait for or ask about a stream that captures, and invalidates its capture.
    pub(super) fn refuse_capturing_stream(&mut self, stream: Id) -> Result<(), Status> {
        let driver = self.driver();
        let Some(id) = driver.streams[&stream].capture else { return Ok(()) };
        driver.invalidate(id);
        Err(Status::STREAM_CAPTURE_UNSUPPORTED)
    }
}

impl Driver {
    pub(super) fn begin_capture(&mut self, stream: Id, mode: u32) -> Result<(), Status> {
        let state = &self.streams[&stream];
        if state.legacy {
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        if state.capture.is_some() {
            return Err(Status::ILLEGAL_STATE);
        }
        self.counters.captures += 1;
        let id = self.counters.captures;
        let capture = Capture {
            context: state.context,
            origin: stream,
            thread: thread::current().id(),
            mode,
            invalid: false,
            graph: Graph::default(),
            tails: LiteMap::from_iter([(stream, Vec::new())]),
        };
        self.captures.insert(id, capture);
        self.join_stream(stream, Some(id));
        Ok(())
    }

    /// Ends the capture that began on `stream`.
    pub(super) fn end_capture(&mut self, stream: Id) -> Result<Graph, Status> {
        let id = self.streams[&stream].capture.ok_or(Status::ILLEGAL_STATE)?;
        let capture = self.captures.get_mut(&id).ok_or(Status::ILLEGAL_STATE)?;
        if capture.origin != stream {
            capture.invalid = true;
            return Err(Status::STREAM_CAPTURE_UNMATCHED);
        }
        if capture.mode != mode::RELAXED && capture.thread != thread::current().id() {
            return Err(Status::STREAM_CAPTURE_WRONG_THREAD);
        }
        let Some(capture) = self.captures.remove(&id) else { return Err(Status::ILLEGAL_STATE) };
        for (_, member) in self.streams.iter_mut().filter(|(_, member)| member.capture == Some(id)) {
            member.capture = None;
        }
        let joined = capture.graph.ancestors(&capture.tails[&stream]);
        let whole = capture.graph.nodes.keys().all(|node| joined.contains(node));
        match (capture.invalid, whole) {
            (false, true) => Ok(capture.graph),
            (invalid, _) => {
                self.counters.captures_lost += 1;
                Err(if invalid { Status::STREAM_CAPTURE_INVALIDATED } else { Status::STREAM_CAPTURE_UNJOINED })
            }
        }
    }

    /// Adds work to the capture of a stream.
    pub(super) fn capture_work(&mut self, stream: Id, work: WorkUnit) -> Result<(), Status> {
        self.capture_action(stream, Action::Work(work)).map(drop)
    }

    /// Adds a node to the capture of a stream.
    pub(super) fn capture_action(&mut self, stream: Id, action: Action) -> Result<Id, Status> {
        let capture = self.active_capture(stream)?;
        let after = capture.tails.get(&stream).cloned().unwrap_or_default();
        let node = capture.graph.add(action, &after)?;
        capture.tails.insert(stream, vec![node]);
        Ok(node)
    }

    /// The capture of a stream, if it has not been invalidated.
    pub(super) fn active_capture(&mut self, stream: Id) -> Result<&mut Capture, Status> {
        let id = self.streams[&stream].capture.ok_or(Status::ILLEGAL_STATE)?;
        match self.captures.get_mut(&id) {
            Some(capture) if !capture.invalid => Ok(capture),
            _ => Err(Status::STREAM_CAPTURE_INVALIDATED),
        }
    }

    /// Makes a stream wait for the work that an event marks in a capture.
    ///
    /// A stream outside the capture joins it.
    pub(super) fn capture_wait(&mut self, stream: Id, id: CaptureId, nodes: &[Id]) -> Result<(), Status> {
        match self.streams[&stream].capture {
            Some(own) if own != id => {
                self.invalidate(own);
                self.invalidate(id);
                return Err(Status::STREAM_CAPTURE_MERGE);
            }
            Some(_) => {}
            None if self.streams[&stream].legacy => {
                self.invalidate(id);
                return Err(Status::STREAM_CAPTURE_IMPLICIT);
            }
            None => self.join_stream(stream, Some(id)),
        }
        let capture = self.active_capture(stream)?;
        let tails = capture.tails.entry(stream).or_default();
        tails.extend(nodes.iter().filter(|node| !tails.contains(node)).copied().collect::<Vec<_>>());
        Ok(())
    }

    pub(super) fn invalidate(&mut self, id: CaptureId) {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.invalid = true;
        }
    }

    /// The captures of streams that wait for this legacy stream.
    pub(super) fn implicit_captures(&self, legacy: Id) -> Vec<CaptureId> {
        let context = self.streams[&legacy].context;
        let waiting = self.streams.values().filter(|stream| stream.context == context && stream.blocking());
        waiting.filter_map(|stream| stream.capture).collect()
    }

    /// Refuses work on the legacy stream while a stream that waits for it captures.
    pub(super) fn refuse_implicit_capture(&mut self, legacy: Id) -> Result<(), Status> {
        let harmed = self.implicit_captures(legacy);
        if harmed.is_empty() {
            return Ok(());
        }
        harmed.into_iter().for_each(|id| self.invalidate(id));
        Err(Status::STREAM_CAPTURE_IMPLICIT)
    }

    fn join_stream(&mut self, stream: Id, capture: Option<CaptureId>) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.capture = capture;
        }
    }
}
