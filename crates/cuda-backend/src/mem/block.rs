//! Blocks of device memory, and regions within them.
//!
//! A block goes back to its pool after its last use.

use core::fmt;
use std::sync::{Arc, Mutex};

use backend_api::{BackendError, Reservation};

use super::{BlockAccess, DevicePool, Uses};
use crate::{
    error::DriverFault,
    ffi::{CudaStream, Events, Turn},
    sync::lock,
};

/// Device memory with an owner.
///
/// Dropping it gives the memory back after every submission that uses it.
pub(crate) struct DeviceBlock {
    pool: Arc<DevicePool>,
    events: Arc<Events>,
    home: Arc<CudaStream>,
    address: u64,
    bytes: u64,
    uses: Mutex<Uses>,
    _reserved: Reservation,
}

impl DeviceBlock {
    /// Takes `bytes` bytes from `pool`, of undefined content, for the later work of `home`.
    ///
    /// `bytes` is a multiple of [`GRANULE_BYTES`](super::GRANULE_BYTES). `events` order the work of
    /// other streams. If the device has no memory left, one more try follows `reclaim`.
    pub(crate) fn take(
        (pool, events): (&Arc<DevicePool>, &Arc<Events>),
        home: &Arc<CudaStream>,
        bytes: u64,
        reserved: Reservation,
        reclaim: impl FnOnce() -> Result<(), DriverFault>,
    ) -> Result<Arc<Self>, BackendError> {
        let address = match pool.take(home, bytes) {
            Err(fault) if fault.is_out_of_memory() => {
                reclaim()?;
                pool.take(home, bytes)
            }
            other => other,
        }
        .map_err(|fault| fault.of_allocation(bytes))?;
        let (pool, events, uses) = (Arc::clone(pool), Arc::clone(events), Mutex::new(Uses::born_on(home)));
        Ok(Arc::new(Self { pool, events, home: Arc::clone(home), address, bytes, uses, _reserved: reserved }))
    }

    /// Whether the memory is from `pool`.
    pub(crate) fn is_from(&self, pool: &Arc<DevicePool>) -> bool {
        Arc::ptr_eq(&self.pool, pool)
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
        lock(&self.uses).admit(stream, at, access, &self.events, turn)
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        if lock(&self.uses).settle(&self.home, &self.events).is_ok() {
            // SAFETY: the pool gave this memory for `home`, whose later work now runs after every use, and the owner is
            // gone, so no use follows.
            unsafe { self.pool.give_back(&self.home, self.address) }
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
