//! Blocks of device memory, and regions within them.
//!
//! A block goes back to its pool after its last use.

use core::fmt;
use std::sync::{Arc, Mutex};

use backend_api::{BackendError, Reservation};

use super::{BlockAccess, DevicePool, Uses};
use crate::{
    error::DriverFault,
    ffi::{CudaStream, Events, SubmissionTurn},
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
    lists: Mutex<NotedLists>,
    _reserved: Reservation,
}

/// Public lists in a block, as noted by the host.
#[derive(Default)]
struct NotedLists {
    /// The byte where they start, and their bytes; `None` once anything else is written.
    written: Option<(u64, Vec<u8>)>,
    /// Whether a graph writes to the block whenever it runs, so that nothing is noted.
    by_graph: bool,
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
        let (home, lists) = (Arc::clone(home), Mutex::default());
        Ok(Arc::new(Self { pool, events, home, address, bytes, uses, lists, _reserved: reserved }))
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
        turn: &SubmissionTurn<'_>,
    ) -> Result<(), DriverFault> {
        if access == BlockAccess::Write {
            lock(&self.lists).written = None;
        }
        lock(&self.uses).admit(stream, at, access, &self.events, turn)
    }

    /// Notes that a graph writes to the block, at any time from now on.
    pub(crate) fn written_by_graph(&self) {
        *lock(&self.lists) = NotedLists { written: None, by_graph: true };
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

    /// Notes that the region starts with `lists`, which were just copied there.
    ///
    /// The caller has held the region exclusively since before the copy.
    pub(crate) fn note_lists(self, lists: Vec<u8>) {
        let mut noted = lock(&self.block.lists);
        if !noted.by_graph {
            noted.written = Some((self.start, lists));
        }
    }

    /// Whether the region is noted to hold exactly `list`.
    ///
    /// Nothing has been written to the block since. As long as the caller has a view of the region,
    /// work that it submits reads that list.
    pub(crate) fn holds(self, list: &[u8]) -> bool {
        let noted = lock(&self.block.lists);
        let Some((start, lists)) = &noted.written else { return false };
        let Some(from) = self.start.checked_sub(*start) else { return false };
        let held = lists.get(from as usize..).and_then(|lists| lists.get(..list.len()));
        self.bytes == list.len() as u64 && held == Some(list)
    }
}

#[cfg(test)]
mod tests {
    use core::ops::Range;

    use backend_api::{Buffer as _, Fork as _, Queue as _, Record as _, Register as _};

    use crate::{CudaBuf, CudaMut, rig};

    /// Whether elements of `buf` are noted to be `list`.
    fn holds(buf: &CudaBuf<u32>, elements: Range<usize>, list: &[u32]) -> bool {
        buf.slice(elements).unwrap().region().unwrap().holds(bytemuck::cast_slice(list))
    }

    #[test]
    fn lists_are_noted_until_their_block_is_written() {
        let (_session, queue) = rig::bare("");
        let mut buf = queue.zeros::<u32>(64).unwrap();
        let write = |buf: &mut CudaBuf<u32>| {
            queue.write_with_lists(&[&[1, 2][..], &[3][..]], &[&[4; 50][..]], buf.slice_mut(11..64).unwrap()).unwrap();
        };
        let noted = |buf: &CudaBuf<u32>| [holds(buf, 11..13, &[1, 2]), holds(buf, 13..14, &[3])];
        write(&mut buf);
        assert_eq!(noted(&buf), [true; 2]);
        // Another list, another length, another place, and a word outside the lists.
        let others = [(11..13, &[1, 3][..]), (11..14, &[1, 2][..]), (10..12, &[0, 1][..]), (14..15, &[4][..])];
        for (elements, list) in others {
            assert!(!holds(&buf, elements, list), "{list:?}");
        }
        assert_eq!(queue.read(buf.slice(11..14).unwrap()).unwrap(), [1, 2, 3]);
        assert_eq!(noted(&buf), [true; 2]);
        // A write anywhere in the block ends it, on any queue of the device.
        let (other, host) = (queue.zeros::<u32>(1).unwrap(), queue.register(vec![0u32]).unwrap());
        let branch = queue.fork().unwrap();
        type BlockWrite<'a> = &'a dyn Fn(CudaMut<'_, u32>);
        let writes: [BlockWrite<'_>; 5] = [
            &|place| queue.clear(place).unwrap(),
            &|place| queue.write(&[0], place).unwrap(),
            &|place| queue.write_registered(&host, 0, place).unwrap(),
            &|place| branch.clear(place).unwrap(),
            &|place| branch.copy(other.view(), place).unwrap(),
        ];
        for (index, write_first) in writes.into_iter().enumerate() {
            write_first(buf.slice_mut(0..1).unwrap());
            assert_eq!(noted(&buf), [false; 2], "write {index}");
            write(&mut buf);
            assert_eq!(noted(&buf), [true; 2], "write {index}");
        }
        // A graph may write at any time.
        let graph = queue.record(|queue| queue.clear(buf.slice_mut(0..1)?)).unwrap();
        assert!(graph.is_some());
        assert_eq!(noted(&buf), [false; 2]);
        write(&mut buf);
        assert_eq!(noted(&buf), [false; 2]);
    }
}
