//! Memory of freed buffers, kept for the next ones.
//!
//! The system takes a large block back when it is freed, and gives it out again page by page, each
//! at a fault. An op that makes its result would pay for these faults every time.

use core::any::{Any, TypeId};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use backend_api::{BackendError, Budget, Element, Reservation};
use bytemuck::allocation::try_zeroed_vec;

/// The smallest block to keep; allocators keep smaller ones.
const LEAST_BYTES: usize = 1 << 16;

/// How much a queue keeps at most.
const MOST_BYTES: usize = 1 << 28;

/// Freed blocks of one queue by type and number of elements.
///
/// Kept and reserved bytes together stay within the budget. One block may exceed it for the moment
/// in which its buffer is dropped.
pub(crate) struct FreedBlocks {
    budget: Budget,
    kept: Mutex<KeptBlocks>,
}

/// Type and number of elements.
type BlockKind = (TypeId, usize);

/// A `Vec` of the elements of its kind.
type Block = Box<dyn Any + Send>;

#[derive(Default)]
struct KeptBlocks {
    bytes: usize,
    by_kind: HashMap<BlockKind, Vec<Block>>,
}

impl KeptBlocks {
    fn take(&mut self, kind: BlockKind, bytes: usize) -> Option<Block> {
        let block = self.by_kind.get_mut(&kind)?.pop()?;
        self.bytes -= bytes;
        Some(block)
    }
}

impl FreedBlocks {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, kept: Mutex::default() }
    }

    pub(crate) const fn budget(&self) -> &Budget {
        &self.budget
    }

    fn kept(&self) -> MutexGuard<'_, KeptBlocks> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the budget has room for `bytes` in addition to live allocations.
    fn has_room_for(&self, bytes: usize) -> bool {
        self.budget.live_bytes().saturating_add(bytes as u64) <= self.budget.limit_bytes()
    }

    /// Takes `bytes` from the budget. All blocks are freed if it has no room for them any more.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<Reservation, BackendError> {
        let reserved = self.budget.reserve(bytes)?;
        if bytes > 0 && !self.has_room_for(self.kept().bytes) {
            self.free();
        }
        Ok(reserved)
    }

    /// Memory for `len` elements, and whether it is zeroed; if not, it has its last contents.
    pub(crate) fn take<T: Element>(&self, len: usize) -> Result<(Vec<T>, bool, Reservation), BackendError> {
        let bytes = len * size_of::<T>();
        let (kept, reserved) = self.take_kept((TypeId::of::<T>(), len), bytes)?;
        if let Some(block) = kept.and_then(|block| block.downcast().ok()) {
            return Ok((*block, false, reserved));
        }
        let fresh = || try_zeroed_vec(len).ok();
        let block = fresh().or_else(|| {
            self.free();
            fresh()
        });
        Ok((block.ok_or(BackendError::OutOfMemory { bytes: bytes as u64 })?, true, reserved))
    }

    /// A kept block of this kind, if there is one, and its reservation.
    fn take_kept(&self, kind: BlockKind, bytes: usize) -> Result<(Option<Block>, Reservation), BackendError> {
        // The block is taken before it is reserved: its bytes would count twice.
        let block = if bytes < LEAST_BYTES { None } else { self.kept().take(kind, bytes) };
        match (self.reserve(bytes as u64), block) {
            (Ok(reserved), block) => Ok((block, reserved)),
            (Err(refused), None) => Err(refused),
            (Err(refused), Some(block)) => {
                self.keep(kind, bytes, block);
                Err(refused)
            }
        }
    }

    /// Keeps a block that is no longer in use or reserved.
    pub(crate) fn give_back<T: Element>(&self, block: Vec<T>) {
        let bytes = size_of_val(&block[..]);
        if (LEAST_BYTES..=MOST_BYTES).contains(&bytes) {
            self.keep((TypeId::of::<T>(), block.len()), bytes, Box::new(block));
        }
    }

    fn keep(&self, kind: BlockKind, bytes: usize, block: Block) {
        let mut kept = self.kept();
        // Freed after the lock is released: returning memory to the system is slow.
        let _freed = if kept.bytes + bytes > MOST_BYTES { core::mem::take(&mut *kept) } else { KeptBlocks::default() };
        if self.has_room_for(kept.bytes + bytes) {
            kept.bytes += bytes;
            kept.by_kind.entry(kind).or_default().push(block);
        }
        drop(kept);
    }

    fn free(&self) {
        let freed = core::mem::take(&mut *self.kept());
        drop(freed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_taken_again_for_its_type_and_length_alone() {
        // The budget has room for one and a half blocks: counting a block twice would free it.
        let blocks = FreedBlocks::new(Budget::new(3 << 16));
        let take = |len| blocks.take::<u32>(len).map(|(block, is_zeroed, _)| (block, is_zeroed));
        blocks.give_back(vec![7u32; 1 << 15]);
        assert_eq!(take(1 << 15), Ok((vec![7; 1 << 15], false)));
        assert_eq!(take(1 << 15), Ok((vec![0; 1 << 15], true)));
        blocks.give_back(vec![7u32; 1 << 15]);
        assert_eq!(take(1 << 14), Ok((vec![0; 1 << 14], true)));
        assert_eq!(blocks.take::<f32>(1 << 14).map(|(block, ..)| block), Ok(vec![0.0; 1 << 14]));
        assert_eq!(take(1 << 15), Ok((vec![7; 1 << 15], false)));
        // A block stays kept if its reservation is refused.
        let others = blocks.budget().reserve(2 << 16).unwrap();
        blocks.give_back(vec![7u32; 1 << 14]);
        blocks.give_back(vec![7u32; 1 << 15]);
        assert!(take(1 << 15).is_err() && blocks.kept().bytes == 1 << 16);
        drop(others);
        // The smallest block that is kept.
        assert_eq!(take(1 << 14), Ok((vec![7; 1 << 14], false)));
        // A small one is the allocator's to keep.
        blocks.give_back(vec![7u32; 1 << 10]);
        assert_eq!(take(1 << 10), Ok((vec![0; 1 << 10], true)));
    }

    #[test]
    fn what_is_kept_and_used_stays_within_the_budget() {
        let budget = Budget::new(3 << 18);
        let blocks = FreedBlocks::new(budget.clone());
        let fill = || (0..4).for_each(|_| blocks.give_back(vec![0u32; 1 << 16]));
        fill();
        assert_eq!(blocks.kept().bytes, 3 << 18);
        // One byte is enough, be it for a block or for scratch.
        let reserved = blocks.reserve(1).unwrap();
        assert_eq!(blocks.kept().bytes, 0);
        fill();
        assert_eq!(blocks.kept().bytes, 2 << 18);
        drop(blocks.reserve((1 << 18) - 1).unwrap());
        assert_eq!(blocks.kept().bytes, 2 << 18);
        assert!(blocks.reserve(3 << 18).is_err());
        drop(reserved);
    }

    #[test]
    fn more_than_is_kept_at_most_frees_what_was_kept_before() {
        let blocks = FreedBlocks::new(Budget::unlimited());
        blocks.give_back(vec![0u8; MOST_BYTES / 2]);
        blocks.give_back(vec![0u8; MOST_BYTES / 2 + 1]);
        assert_eq!(blocks.kept().bytes, MOST_BYTES / 2 + 1);
        blocks.give_back(vec![0u8; MOST_BYTES + 1]);
        assert_eq!(blocks.kept().bytes, MOST_BYTES / 2 + 1);
    }
}
