//! Recording ops of a queue into a graph, replaying it, and forking and joining queues.

use core::fmt;
use std::sync::{Arc, Mutex};

use backend_api::{BackendError, Fork, Record};

use crate::{
    CudaQueue,
    error::Fault,
    ffi::{Captured, Executable, Relaxed, Stream},
    launch,
    mem::Piece,
    recording::{Recording, Used},
    sync::lock,
    track::Track,
};

/// Recorded ops, ready to run as one submission, with all memory that they use.
pub struct CudaGraph {
    executable: Executable,
    used: Used,
    nodes: usize,
    streams: Mutex<Vec<Arc<Stream>>>,
}

impl CudaGraph {
    /// Number of launches, copies and fills, and of the joints between them.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The kernels, in the order of their launches.
    #[must_use]
    pub fn kernels(&self) -> &[Arc<str>] {
        &self.used.kernels
    }

    pub(crate) fn executable(&self) -> &Executable {
        &self.executable
    }

    pub(crate) fn used(&self) -> &Used {
        &self.used
    }

    /// Notes that the graph runs on `stream`.
    pub(crate) fn runs_on(&self, stream: &Arc<Stream>) {
        let mut streams = lock(&self.streams);
        if streams.iter().all(|known| known.id() != stream.id()) {
            streams.push(Arc::clone(stream));
        }
    }
}

impl Drop for CudaGraph {
    /// Waits where copies were recorded: blocks are given back after their last use, but nothing notes when a recorded copy
    /// has read its pinned memory.
    fn drop(&mut self) {
        let pieces = std::mem::take(&mut self.used.pieces);
        if !pieces.is_empty() && lock(&self.streams).iter().any(|stream| stream.synchronize().is_err()) {
            pieces.into_iter().for_each(Piece::abandon);
        }
    }
}

impl fmt::Debug for CudaGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaGraph")
            .field("nodes", &self.nodes)
            .field("kernels", &self.used.kernels)
            .field("buffers", &self.used.blocks.len())
            .field("constants", &self.used.pieces.len())
            .finish_non_exhaustive()
    }
}

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
            Ok((nodes, executable)) => Ok(Some(CudaGraph { executable, used, nodes, streams: Mutex::default() })),
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
fn refused(device: &crate::DeviceCtx, fault: Fault) -> Result<Option<CudaGraph>, BackendError> {
    match fault {
        Fault::Lost(error) => Err(error),
        Fault::Refused { .. } => Ok(no_graph(device)),
    }
}

fn no_graph(device: &crate::DeviceCtx) -> Option<CudaGraph> {
    device.note_refused_recording();
    None
}
