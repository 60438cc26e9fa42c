//! Blocks of device memory, and regions within them.
//!
//! A block goes back to its pool after its last use.

use core::fmt;
use std::sync::{Arc, Mutex};

use backend_api::Reservation;

use super::{BlockAccess, Uses};
use crate::{
    device::DeviceCtx,
    error::DriverFault,
    ffi::{CudaStream, Turn},
    sync::lock,
};

/// Device memory with an owner.
///
/// Dropping it gives the memory back after every submission that uses it.
pub(crate) struct DeviceBlock {
    device: Arc<DeviceCtx>,
    home: Arc<CudaStream>,
    address: u64,
    bytes: u64,
    uses: Mutex<Uses>,
    _reserved: Reservation,
}

impl DeviceBlock {
    /// Owns `bytes` bytes at `address`, which `device`'s pool gave for the stream `home`.
    pub(super) fn new(
        device: Arc<DeviceCtx>,
        home: Arc<CudaStream>,
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
    pub(crate) fn admit(
        &self,
        stream: &Arc<CudaStream>,
        at: u64,
        access: BlockAccess,
        turn: &Turn<'_>,
    ) -> Result<(), DriverFault> {
        lock(&self.uses).admit(stream, at, access, self.device.events(), turn)
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        if lock(&self.uses).settle(&self.home, self.device.events()).is_ok() {
            // SAFETY: the pool gave this memory for `home`, whose later work now runs after every use, and the owner is
            // gone, so no use follows.
            unsafe { self.device.pool().give_back(&self.home, self.address) }
        }
    }
}

impl fmt::Debug for DeviceBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBlock").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Consecutive bytes of a [`DeviceBlock`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRegion<'a> {
    block: &'a Arc<DeviceBlock>,
    start: u64,
    bytes: u64,
}

impl<'a> BlockRegion<'a> {
    /// Bytes `start .. start + bytes` of the block, clamped to its length.
    pub(crate) fn new(block: &'a Arc<DeviceBlock>, start: u64, bytes: u64) -> Self {
        let start = start.min(block.bytes);
        Self { block, start, bytes: bytes.min(block.bytes - start) }
    }

    /// Its bytes `start .. start + bytes`, clamped to its length.
    pub(crate) fn part(self, start: u64, bytes: u64) -> Self {
        let start = start.min(self.bytes);
        Self { block: self.block, start: self.start + start, bytes: bytes.min(self.bytes - start) }
    }

    pub(crate) fn block(self) -> &'a Arc<DeviceBlock> {
        self.block
    }

    pub(crate) fn address(self) -> u64 {
        self.block.address + self.start
    }

    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }
}
