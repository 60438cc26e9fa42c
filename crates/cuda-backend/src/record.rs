//! Forking and joining queues, and recording their ops into a graph.

use std::sync::Arc;

use backend_api::{BackendError, Fork, Record};

use crate::{
    CudaGraph, CudaQueue, DeviceCtx,
    error::Fault,
    ffi::{Captured, Relaxed, Stream},
    launch,
    recording::Recording,
    track::Track,
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
        let device = self.device();
        // Within a recording, ops are recorded anyway.
        if self.track().recording().is_some() {
            return Ok(None);
        }
        // A stream of its own, so that no other holder of this queue gets into the recording.
        let stream = Stream::new(device.context()).map_err(BackendError::from)?;
        let recording = Recording::new(device, self.track().stream());
        if let Err(fault) = Captured::begin(&stream) {
            return Ok(refused(device, fault)?);
        }
        let refused_before = device.context().refused_captures();
        let ran = body(&Self::on(Track::of(&recording, device, Arc::clone(&stream))));
        let joined = recording.end(&stream, &device.context().turn());
        let captured = end(&stream);
        let used = recording.hand_over();
        if let Some(lost) = device.context().lost() {
            return Err(lost.clone().into());
        }
        // A body that carries on after a refusal gives no graph either.
        if used.refused || device.context().refused_captures() != refused_before {
            return Ok(no_graph(device));
        }
        ran?;
        let ready = joined.and(captured).and_then(|captured| {
            let executable = captured.instantiate()?;
            executable.upload(self.track().stream())?;
            Ok((captured.nodes()?, executable))
        });
        match ready {
            Ok((nodes, executable)) => Ok(Some(CudaGraph::new(executable, used, nodes))),
            Err(fault) => Ok(refused(device, fault)?),
        }
    }

    fn replay(&self, graph: &CudaGraph) -> Result<(), BackendError> {
        launch::replay(self.track(), graph)
    }
}

/// Ends the recording of `stream`, so that this thread does not stay restricted by it, whatever the driver answers.
fn end(stream: &Stream) -> Result<Captured, Fault> {
    let ended = Captured::end(stream).or_else(|_| Captured::end(stream));
    if ended.is_err() {
        Relaxed::enter(stream.context()).map(Relaxed::stay)?;
    }
    ended
}

/// A recording that the driver refused is no error: the ops then run one by one.
fn refused(device: &DeviceCtx, fault: Fault) -> Result<Option<CudaGraph>, BackendError> {
    match fault {
        Fault::Lost(error) => Err(error),
        Fault::Refused { .. } => Ok(no_graph(device)),
    }
}

fn no_graph(device: &DeviceCtx) -> Option<CudaGraph> {
    device.note_refused_recording();
    None
}
