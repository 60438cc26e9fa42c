//! Recorded ops, with all memory that they use, and their replay.

use core::fmt;
use std::sync::{Arc, Mutex};

use backend_api::BackendError;

use crate::{
    ffi::{CudaStream, Executable},
    mem::PinnedPiece,
    streams::{Track, Used},
    sync::lock,
};

/// Recorded ops, ready to run as one submission, with all memory that they use.
pub struct CudaGraph {
    executable: Executable,
    used: Used,
    kernels: Vec<Arc<str>>,
    nodes: usize,
    streams: Mutex<Vec<Arc<CudaStream>>>,
}

impl CudaGraph {
    /// A graph of `nodes` nodes that has not run yet.
    pub(crate) fn new(executable: Executable, used: Used, nodes: usize) -> Self {
        let kernels = used.kernels.iter().map(|kernel| Arc::clone(kernel.name())).collect();
        Self { executable, used, kernels, nodes, streams: Mutex::default() }
    }

    /// Number of launches, copies and fills, and of the joints between them.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The kernels, in the order of their launches.
    #[must_use]
    pub fn kernels(&self) -> &[Arc<str>] {
        &self.kernels
    }

    /// Notes that the graph runs on `stream`.
    fn runs_on(&self, stream: &Arc<CudaStream>) {
        let mut streams = lock(&self.streams);
        if streams.iter().all(|known| known.id() != stream.id()) {
            streams.push(Arc::clone(stream));
        }
    }
}

impl Drop for CudaGraph {
    /// Waits for the streams of the graph if copies were recorded.
    ///
    /// Blocks are given back after their last use, but no event marks when a recorded copy has read
    /// its pinned memory.
    fn drop(&mut self) {
        let pieces = std::mem::take(&mut self.used.pieces);
        if !pieces.is_empty() && lock(&self.streams).iter().any(|stream| stream.synchronize().is_err()) {
            pieces.into_iter().for_each(PinnedPiece::abandon);
        }
    }
}

impl fmt::Debug for CudaGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaGraph")
            .field("nodes", &self.nodes)
            .field("kernels", &self.kernels)
            .field("buffers", &self.used.blocks.len())
            .field("constants", &self.used.pieces.len())
            .finish_non_exhaustive()
    }
}

/// Submits recorded launches, copies and fills as one.
///
/// Submissions of a graph from several threads take turns, as the driver requires.
pub(crate) fn replay(track: &Track, graph: &CudaGraph) -> Result<(), BackendError> {
    let used = &graph.used;
    used.blocks.iter().try_for_each(|(block, _)| track.own("replay", block))?;
    if track.recording().is_some() {
        track.permit_waiting("replay")?;
    }
    let uses: Vec<_> = used.blocks.iter().map(|(block, access)| (block, *access)).collect();
    let admitted = track.admit("replay", &uses)?;
    for kernel in &used.kernels {
        track.launched(&admitted, kernel);
    }
    graph.runs_on(track.stream());
    // SAFETY: the graph keeps everything it uses, and blocks are given back only after the use that
    // was just noted.
    unsafe { graph.executable.launch(track.stream()) }?;
    Ok(())
}
