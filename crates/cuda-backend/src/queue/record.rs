//! Forking and joining queues, and recording their ops into a graph.

use std::sync::Arc;

use backend_api::{BackendError, Fork, Record};

use crate::{
    CudaGraph, CudaQueue, DeviceCtx,
    error::DriverFault,
    ffi::{Captured, CudaStream, Relaxed},
    streams::{GraphRecording, Track, Used},
    submit,
};

impl Fork for CudaQueue {
    fn fork(&self) -> Result<Self, BackendError> {
        Ok(Self::on(self.track().fork()?))
    }

    fn join(&self, branch: &Self) -> Result<(), BackendError> {
        if self.device().context().id() != branch.device().context().id() {
            return Err(BackendError::MixedBackend { op: "join" });
        }
        self.track().join(branch.track())
    }
}

impl Record for CudaQueue {
    type Graph = CudaGraph;

    fn record<E: From<BackendError>>(&self, body: impl FnOnce(&Self) -> Result<(), E>) -> Result<Option<CudaGraph>, E> {
        let Some(begun) = ActiveRecording::on(self)? else { return Ok(None) };
        let ran = body(&begun.queue());
        let Some(ended) = begun.end()? else { return Ok(None) };
        ran?;
        Ok(ended.graph(self)?)
    }

    fn replay(&self, graph: &CudaGraph) -> Result<(), BackendError> {
        submit::replay(self.track(), graph)
    }
}

/// A recording in progress.
///
/// Its steps are not generic, so that they are compiled once and not for each body.
struct ActiveRecording<'q> {
    device: &'q Arc<DeviceCtx>,
    stream: Arc<CudaStream>,
    recording: Arc<GraphRecording>,
    /// Captures that the driver had refused before.
    refused: u64,
}

impl<'q> ActiveRecording<'q> {
    /// Begins a recording.
    ///
    /// `None` within another recording, which records ops anyway, and if the driver refuses.
    fn on(queue: &'q CudaQueue) -> Result<Option<Self>, BackendError> {
        let device = queue.device();
        if queue.track().recording().is_some() {
            return Ok(None);
        }
        // A separate stream, so that no other holder of the queue gets into the recording.
        let stream = CudaStream::new(device.context())?;
        let recording = GraphRecording::new(device, queue.track().stream());
        match Captured::begin(&stream) {
            Ok(()) => Ok(Some(Self { device, stream, recording, refused: device.context().refused_captures() })),
            Err(fault) => refused(device, fault),
        }
    }

    /// The queue whose ops are recorded.
    fn queue(&self) -> CudaQueue {
        CudaQueue::on(Track::of(&self.recording, self.device, Arc::clone(&self.stream)))
    }

    /// Ends the recording; `None` after a refusal, even if the body carried on.
    fn end(self) -> Result<Option<EndedRecording>, BackendError> {
        let Self { device, stream, recording, refused } = self;
        let joined = recording.end(&stream, &device.context().turn());
        let captured = end(&stream);
        let used = recording.hand_over();
        if let Some(lost) = device.context().lost() {
            return Err(lost.clone());
        }
        if used.refused || device.context().refused_captures() != refused {
            return Ok(no_graph(device, "an op waits for the device; a wait cannot be captured in a graph".to_owned()));
        }
        Ok(Some(EndedRecording { captured: joined.and(captured), used }))
    }
}

/// An ended recording.
struct EndedRecording {
    captured: Result<Captured, DriverFault>,
    used: Used,
}

impl EndedRecording {
    /// The graph, ready to be replayed on `queue`.
    fn graph(self, queue: &CudaQueue) -> Result<Option<CudaGraph>, BackendError> {
        let ready = self.captured.and_then(|captured| {
            let executable = captured.instantiate()?;
            executable.upload(queue.track().stream())?;
            Ok((captured.nodes()?, executable))
        });
        match ready {
            Ok((nodes, executable)) => Ok(Some(CudaGraph::new(executable, self.used, nodes))),
            Err(fault) => refused(queue.device(), fault),
        }
    }
}

/// Ends the recording of `stream`.
///
/// The thread is no longer restricted by the recording, whatever the driver returns.
fn end(stream: &CudaStream) -> Result<Captured, DriverFault> {
    let ended = Captured::end(stream).or_else(|_| Captured::end(stream));
    if ended.is_err() {
        Relaxed::enter(stream.context()).map(Relaxed::stay)?;
    }
    ended
}

/// A recording that the driver refused is no error: the ops then run one by one.
fn refused<T>(device: &DeviceCtx, fault: DriverFault) -> Result<Option<T>, BackendError> {
    match fault {
        DriverFault::Lost(error) => Err(error),
        refused @ DriverFault::Refused { .. } => Ok(no_graph(device, BackendError::from(refused).to_string())),
    }
}

fn no_graph<T>(device: &DeviceCtx, reason: String) -> Option<T> {
    device.note_refused_recording(reason);
    None
}
