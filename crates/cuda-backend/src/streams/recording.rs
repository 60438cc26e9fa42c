//! A running recording: its streams, and the memory that the recorded work will need.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use backend_api::BackendError;

use crate::{
    device::DeviceCtx,
    error::Fault,
    ffi::{Stream, Turn},
    kernels::Kernel,
    mem::{Access, Block, Piece, Uses},
    sync::lock,
};

/// One recording: its streams, and the memory and kernels of the recorded work.
///
/// It ends in a separate turn, so that a [`permit`](Self::permit) holds for the rest of the turn
/// that it was given in.
#[derive(Debug)]
pub(crate) struct Recording {
    device: Arc<DeviceCtx>,
    home: Arc<Stream>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    streams: Vec<Arc<Stream>>,
    /// By the address of the kept block.
    blocks: HashMap<usize, Kept>,
    /// The blocks that were taken for this recording, by their addresses.
    ///
    /// A weak handle prevents them from being given to others.
    taken: HashMap<usize, Weak<Block>>,
    pieces: Vec<Piece>,
    kernels: Vec<Arc<Kernel>>,
    refused: bool,
    ended: bool,
}

#[derive(Debug)]
struct Kept {
    block: Arc<Block>,
    uses: Uses,
    access: Access,
}

/// The memory and kernels of a recording, to be kept while it can run.
#[derive(Debug)]
pub(crate) struct Used {
    /// Each block, and whether the recording writes it.
    pub(crate) blocks: Vec<(Arc<Block>, Access)>,
    /// Pinned memory that recorded copies read.
    pub(crate) pieces: Vec<Piece>,
    /// The kernels, in the order of their launches.
    pub(crate) kernels: Vec<Arc<Kernel>>,
    /// Whether a call was made that no recording supports.
    pub(crate) refused: bool,
}

impl Recording {
    /// A recording whose memory comes from `home`.
    pub(crate) fn new(device: &Arc<DeviceCtx>, home: &Arc<Stream>) -> Arc<Self> {
        Arc::new(Self { device: Arc::clone(device), home: Arc::clone(home), state: Mutex::default() })
    }

    pub(crate) fn home(&self) -> &Arc<Stream> {
        &self.home
    }

    /// Fails if the recording has ended.
    ///
    /// Queues of the recording that are left then have no stream that records.
    pub(crate) fn permit(&self, op: &'static str, _turn: &Turn<'_>) -> Result<(), BackendError> {
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
        parent: &Stream,
        stream: &Arc<Stream>,
        turn: &Turn<'_>,
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
        block: &Arc<Block>,
        stream: &Arc<Stream>,
        at: u64,
        access: Access,
        turn: &Turn<'_>,
    ) -> Result<(), Fault> {
        let mut state = lock(&self.state);
        let kept = state.blocks.entry(Arc::as_ptr(block).addr()).or_insert_with(|| Kept {
            block: Arc::clone(block),
            uses: Uses::default(),
            access: Access::Read,
        });
        if access == Access::Write {
            kept.access = Access::Write;
        }
        kept.uses.admit(stream, at, access, self.device.events(), turn)
    }

    /// Notes that `block` was taken for this recording.
    ///
    /// Each replay may read the initial content of any other block.
    pub(crate) fn took(&self, block: &Arc<Block>) {
        lock(&self.state).taken.insert(Arc::as_ptr(block).addr(), Arc::downgrade(block));
    }

    /// The smallest fitting block that was taken for this recording and has no other owner.
    ///
    /// It has between `bytes` and `2 * bytes` bytes. The work that used it comes before any work
    /// that will.
    pub(crate) fn reuse(&self, bytes: u64) -> Option<Arc<Block>> {
        let state = lock(&self.state);
        let taken = state.blocks.iter().filter(|(address, _)| state.taken.contains_key(address));
        let free = taken.map(|(_, kept)| &kept.block).filter(|block| Arc::strong_count(block) == 1);
        let fitting = free.filter(|block| (bytes..=bytes.saturating_mul(2)).contains(&block.bytes()));
        fitting.min_by_key(|block| (block.bytes(), Arc::as_ptr(block).addr())).map(Arc::clone)
    }

    pub(crate) fn launched(&self, kernel: &Arc<Kernel>) {
        lock(&self.state).kernels.push(Arc::clone(kernel));
    }

    /// Keeps pinned memory that work of this turn reads.
    pub(crate) fn keep(&self, piece: Piece, _turn: &Turn<'_>) {
        lock(&self.state).pieces.push(piece);
    }

    pub(crate) fn refuse(&self) {
        lock(&self.state).refused = true;
    }

    /// Admits no further work, and joins every forked stream to `first`.
    ///
    /// The recording then ends on the stream where it began.
    pub(crate) fn end(&self, first: &Stream, _turn: &Turn<'_>) -> Result<(), Fault> {
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
        let ended = State { ended: true, ..State::default() };
        let State { blocks, pieces, kernels, refused, .. } = std::mem::replace(&mut *lock(&self.state), ended);
        let blocks = blocks.into_values().map(|kept| (kept.block, kept.access)).collect();
        Used { blocks, pieces, kernels, refused }
    }
}
