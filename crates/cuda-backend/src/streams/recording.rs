//! A running recording: its streams, and the memory that the recorded work will need.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use backend_api::BackendError;

use crate::{
    device::DeviceCtx,
    error::DriverFault,
    ffi::{CudaStream, SubmissionTurn},
    kernels::LoadedKernel,
    mem::{BlockAccess, DeviceBlock, PinnedPiece, Uses},
    sync::lock,
};

/// One recording: its streams, and the memory and kernels of the recorded work.
///
/// It ends in a separate turn, so that a [`permit`](Self::permit) holds for the rest of the turn
/// that it was given in.
#[derive(Debug)]
pub(crate) struct GraphRecording {
    device: Arc<DeviceCtx>,
    home: Arc<CudaStream>,
    state: Mutex<RecordedWork>,
}

#[derive(Debug, Default)]
struct RecordedWork {
    streams: Vec<Arc<CudaStream>>,
    /// By the address of the kept block.
    blocks: HashMap<usize, KeptBlock>,
    /// The blocks that were taken for this recording, by their addresses.
    ///
    /// A weak handle prevents them from being given to others.
    taken: HashMap<usize, Weak<DeviceBlock>>,
    pieces: Vec<PinnedPiece>,
    kernels: Vec<Arc<LoadedKernel>>,
    refused: bool,
    ended: bool,
}

#[derive(Debug)]
struct KeptBlock {
    block: Arc<DeviceBlock>,
    uses: Uses,
    access: BlockAccess,
}

/// The memory and kernels of a recording, to be kept while it can run.
#[derive(Debug)]
pub(crate) struct Used {
    /// Each block, and whether the recording writes it.
    pub(crate) blocks: Vec<(Arc<DeviceBlock>, BlockAccess)>,
    /// Pinned memory that recorded copies read.
    pub(crate) pieces: Vec<PinnedPiece>,
    /// The kernels, in the order of their launches.
    pub(crate) kernels: Vec<Arc<LoadedKernel>>,
    /// Whether a call was made that no recording supports.
    pub(crate) refused: bool,
}

impl GraphRecording {
    /// A recording whose memory comes from `home`.
    pub(crate) fn new(device: &Arc<DeviceCtx>, home: &Arc<CudaStream>) -> Arc<Self> {
        Arc::new(Self { device: Arc::clone(device), home: Arc::clone(home), state: Mutex::default() })
    }

    pub(crate) fn home(&self) -> &Arc<CudaStream> {
        &self.home
    }

    /// Fails if the recording has ended.
    ///
    /// Queues of the recording that are left then have no stream that records.
    pub(crate) fn permit(&self, op: &'static str, _turn: &SubmissionTurn<'_>) -> Result<(), BackendError> {
        if lock(&self.state).ended {
            return Err(BackendError::Unsupported { op, why: "the recording of this queue has ended" });
        }
        Ok(())
    }

    /// Lets `stream` record after `parent`.
    ///
    /// It takes part from its first wait on, even if there is nothing to wait for.
    pub(crate) fn add_stream(
        &self,
        parent: &CudaStream,
        stream: &Arc<CudaStream>,
        turn: &SubmissionTurn<'_>,
    ) -> Result<(), BackendError> {
        self.permit("fork", turn)?;
        self.device.events().order(parent, stream)?;
        lock(&self.state).streams.push(Arc::clone(stream));
        Ok(())
    }

    /// Orders a recorded submission after earlier ones of the same recording.
    ///
    /// Keeps the block.
    pub(crate) fn admit(
        &self,
        block: &Arc<DeviceBlock>,
        stream: &Arc<CudaStream>,
        at: u64,
        access: BlockAccess,
        turn: &SubmissionTurn<'_>,
    ) -> Result<(), DriverFault> {
        let mut state = lock(&self.state);
        let kept = state.blocks.entry(Arc::as_ptr(block).addr()).or_insert_with(|| KeptBlock {
            block: Arc::clone(block),
            uses: Uses::default(),
            access: BlockAccess::Read,
        });
        if access == BlockAccess::Write {
            kept.access = BlockAccess::Write;
            block.written_by_graph();
        }
        kept.uses.admit(stream, at, access, self.device.events(), turn)
    }

    /// Notes that `block` was taken for this recording.
    ///
    /// Each replay may read the initial content of any other block.
    pub(crate) fn took(&self, block: &Arc<DeviceBlock>) {
        lock(&self.state).taken.insert(Arc::as_ptr(block).addr(), Arc::downgrade(block));
    }

    /// The smallest fitting block that was taken for this recording and has no other owner.
    ///
    /// It has between `bytes` and `2 * bytes` bytes. The work that used it comes before any work
    /// that will.
    pub(crate) fn reuse(&self, bytes: u64) -> Option<Arc<DeviceBlock>> {
        let state = lock(&self.state);
        let taken = state.blocks.iter().filter(|(address, _)| state.taken.contains_key(address));
        let free = taken.map(|(_, kept)| &kept.block).filter(|block| Arc::strong_count(block) == 1);
        let fitting = free.filter(|block| (bytes..=bytes.saturating_mul(2)).contains(&block.bytes()));
        fitting.min_by_key(|block| (block.bytes(), Arc::as_ptr(block).addr())).map(Arc::clone)
    }

    pub(crate) fn launched(&self, kernel: &Arc<LoadedKernel>) {
        lock(&self.state).kernels.push(Arc::clone(kernel));
    }

    /// Keeps pinned memory that work of this turn reads.
    pub(crate) fn keep(&self, piece: PinnedPiece, _turn: &SubmissionTurn<'_>) {
        lock(&self.state).pieces.push(piece);
    }

    pub(crate) fn refuse(&self) {
        lock(&self.state).refused = true;
    }

    /// Admits no further work, and joins every forked stream to `first`.
    ///
    /// The recording then ends on the stream where it began.
    pub(crate) fn end(&self, first: &CudaStream, _turn: &SubmissionTurn<'_>) -> Result<(), DriverFault> {
        let mut state = lock(&self.state);
        state.ended = true;
        let streams = state.streams.clone();
        drop(state);
        for stream in &streams {
            self.device.events().order(stream, first)?;
        }
        Ok(())
    }

    /// Hands over the memory and kernels of the work, once the recording has ended.
    pub(crate) fn hand_over(&self) -> Used {
        let ended = RecordedWork { ended: true, ..RecordedWork::default() };
        let RecordedWork { blocks, pieces, kernels, refused, .. } = std::mem::replace(&mut *lock(&self.state), ended);
        let blocks = blocks.into_values().map(|kept| (kept.block, kept.access)).collect();
        Used { blocks, pieces, kernels, refused }
    }
}
