use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use crate::{
    device::DeviceCtx,
    error::Fault,
    ffi::Stream,
    mem::{Access, Block, Piece, Uses},
    sync::lock,
};

/// One recording: the streams that take part, and what the recorded work uses.
#[derive(Debug)]
pub(crate) struct Session {
    device: Arc<DeviceCtx>,
    home: Arc<Stream>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    streams: Vec<Arc<Stream>>,
    /// By the address of the kept block.
    blocks: HashMap<usize, Kept>,
    pieces: Vec<Piece>,
    kernels: Vec<&'static str>,
    refused: bool,
}

#[derive(Debug)]
struct Kept {
    block: Arc<Block>,
    uses: Uses,
    access: Access,
}

/// What a recording uses, to be kept while it can run.
#[derive(Debug)]
pub(crate) struct Used {
    /// Each block, and whether the recording writes it.
    pub(crate) blocks: Vec<(Arc<Block>, Access)>,
    /// Pinned memory that recorded copies read.
    pub(crate) pieces: Vec<Piece>,
    /// The kernels, in the order of their launches.
    pub(crate) kernels: Vec<&'static str>,
    /// Whether something was asked that no recording can do.
    pub(crate) refused: bool,
}

impl Session {
    /// A recording whose memory comes from `home`.
    pub(crate) fn new(device: &Arc<DeviceCtx>, home: &Arc<Stream>) -> Arc<Self> {
        Arc::new(Self { device: Arc::clone(device), home: Arc::clone(home), state: Mutex::default() })
    }

    pub(crate) fn home(&self) -> &Arc<Stream> {
        &self.home
    }

    /// Lets `stream` record behind `parent`. It takes part from its first wait on, even if there is nothing to wait for.
    pub(crate) fn add_stream(&self, parent: &Stream, stream: &Arc<Stream>) -> Result<(), Fault> {
        self.device.events().order(parent, stream)?;
        lock(&self.state).streams.push(Arc::clone(stream));
        Ok(())
    }

    /// Orders a recorded submission behind earlier ones of the same recording, and keeps the block.
    pub(crate) fn admit(&self, block: &Arc<Block>, stream: &Arc<Stream>, at: u64, access: Access) -> Result<(), Fault> {
        let mut state = lock(&self.state);
        let kept = state.blocks.entry(Arc::as_ptr(block).addr()).or_insert_with(|| Kept {
            block: Arc::clone(block),
            uses: Uses::default(),
            access: Access::Read,
        });
        if access == Access::Write {
            kept.access = Access::Write;
        }
        kept.uses.admit(stream, at, access, self.device.events())
    }

    pub(crate) fn launched(&self, kernel: &'static str) {
        lock(&self.state).kernels.push(kernel);
    }

    pub(crate) fn keep(&self, piece: Piece) {
        lock(&self.state).pieces.push(piece);
    }

    pub(crate) fn refuse(&self) {
        lock(&self.state).refused = true;
    }

    /// Joins every forked stream to `first`, so that the recording ends where it began.
    pub(crate) fn join_forks(&self, first: &Stream) -> Result<(), Fault> {
        let streams = lock(&self.state).streams.clone();
        for stream in &streams {
            self.device.events().order(stream, first)?;
        }
        Ok(())
    }

    /// Ends the session and hands over what its work uses.
    pub(crate) fn finish(&self) -> Used {
        let State { blocks, pieces, kernels, refused, .. } = std::mem::take(&mut *lock(&self.state));
        let blocks = blocks.into_values().map(|kept| (kept.block, kept.access)).collect();
        Used { blocks, pieces, kernels, refused }
    }
}
