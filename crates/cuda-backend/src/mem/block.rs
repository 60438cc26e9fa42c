//! Blocks of device memory, and regions within them.
//!
//! A block goes back to its pool after its last use.

use core::fmt;
use std::sync::{Arc, Mutex};

use backend_api::Reservation;

use super::{Access, Uses};
use crate::{
    device::DeviceCtx,
    error::Fault,
    ffi::{Stream, Turn},
    sync::lock,
};

/// Device memory with an owner.
///
/// Dropping it gives the memory back after every submission that uses it.
pub(crate) struct Block {
    device: Arc<DeviceCtx>,
    home: Arc<Stream>,
    address: u64,
    bytes: u64,
    uses: Mutex<Uses>,
    _reserved: Reservation,
}

impl Block {
    /// Owns `bytes` bytes at `address`, which `device`'s pool gave for the stream `home`.
    pub(super) fn new(
        device: Arc<DeviceCtx>,
        home: Arc<Stream>,
        address: u64,
        bytes: u64,
        reserved: Reservation,
    ) -> Arc<Self> {
        let uses = Mutex::new(Uses::born_on(&home));
        Arc::new(Self { device, home, address, bytes, uses, _reserved: reserved })
    }

    pub(crate) fn device(&self) -> &Arc<DeviceCtx> {
        &self.device
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Orders number `at` of `stream` after the uses that it must not overtake, and notes it.
    pub(crate) fn admit(&self, stream: &Arc<Stream>, at: u64, access: Access, turn: &Turn<'_>) -> Result<(), Fault> {
        lock(&self.uses).admit(stream, at, access, self.device.events(), turn)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if lock(&self.uses).settle(&self.home, self.device.events()).is_ok() {
            // SAFETY: the pool gave this memory for `home`, whose later work now runs after every use, and the owner is
            // gone, so no use follows.
            unsafe { self.device.pool().give_back(&self.home, self.address) }
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Consecutive bytes of a [`Block`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region<'a> {
    block: &'a Arc<Block>,
    start: u64,
    bytes: u64,
}

impl<'a> Region<'a> {
    /// Bytes `start .. start + bytes` of the block, clamped to its length.
    pub(crate) fn new(block: &'a Arc<Block>, start: u64, bytes: u64) -> Self {
        let start = start.min(block.bytes);
        Self { block, start, bytes: bytes.min(block.bytes - start) }
    }

    /// Its bytes `start .. start + bytes`, clamped to its length.
    pub(crate) fn part(self, start: u64, bytes: u64) -> Self {
        let start = start.min(self.bytes);
        Self { block: self.block, start: self.start + start, bytes: bytes.min(self.bytes - start) }
    }

    pub(crate) fn block(self) -> &'a Arc<Block> {
        self.block
    }

    pub(crate) fn address(self) -> u64 {
        self.block.address + self.start
    }

    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }
}
