//! Memory of freed buffers, kept for the next ones.
//!
//! The system takes a large block back when it is freed, and gives it out again page by page, each at a fault. An op that makes its
//! result would pay for these faults every time.

use core::any::{Any, TypeId};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use backend_api::{Budget, Element};

/// The smallest block to keep; allocators keep smaller ones.
const LEAST_BYTES: usize = 1 << 16;

/// How much is kept at most.
const MOST_BYTES: usize = 1 << 28;

/// Freed blocks by type and number of elements. With what is in use they stay within the budget.
pub(crate) struct Blocks {
    budget: Budget,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    bytes: usize,
    /// Each is a `Vec` of as many elements of the type.
    by_kind: HashMap<(TypeId, usize), Vec<Box<dyn Any + Send>>>,
}

impl Blocks {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, kept: Mutex::default() }
    }

    pub(crate) const fn budget(&self) -> &Budget {
        &self.budget
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the budget has room for `bytes` besides what is in use.
    fn has_room_for(&self, bytes: usize) -> bool {
        self.budget.live_bytes().saturating_add(bytes as u64) <= self.budget.limit_bytes()
    }

    /// A freed block of `len` elements with what was last in it, which the caller has reserved. Without one, others are freed where
    /// the budget has no room for them any more.
    pub(crate) fn take<T: Element>(&self, len: usize) -> Option<Vec<T>> {
        if len.saturating_mul(size_of::<T>()) < LEAST_BYTES {
            return None;
        }
        let mut kept = self.kept();
        if let Some(block) = kept.by_kind.get_mut(&(TypeId::of::<T>(), len)).and_then(Vec::pop) {
            kept.bytes -= len * size_of::<T>();
            return block.downcast().ok().map(|block| *block);
        }
        if !self.has_room_for(kept.bytes) {
            *kept = Kept::default();
        }
        None
    }

    /// Keeps the block of a buffer that is dropped.
    pub(crate) fn give_back<T: Element>(&self, block: Vec<T>) {
        let bytes = size_of_val(&block[..]);
        if !(LEAST_BYTES..=MOST_BYTES).contains(&bytes) {
            return;
        }
        let mut kept = self.kept();
        if kept.bytes + bytes > MOST_BYTES {
            *kept = Kept::default();
        }
        if self.has_room_for(kept.bytes + bytes) {
            kept.bytes += bytes;
            kept.by_kind.entry((TypeId::of::<T>(), block.len())).or_default().push(Box::new(block));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_taken_again_for_its_type_and_length_alone() {
        let blocks = Blocks::new(Budget::unlimited());
        blocks.give_back(vec![7u32; 1 << 15]);
        assert_eq!(blocks.take::<f32>(1 << 15), None);
        assert_eq!(blocks.take::<u32>(1 << 14), None);
        assert_eq!(blocks.take::<u32>(1 << 15), Some(vec![7; 1 << 15]));
        assert_eq!(blocks.take::<u32>(1 << 15), None);
        // A small one is the allocator's to keep.
        blocks.give_back(vec![7u32; 1 << 10]);
        assert_eq!(blocks.take::<u32>(1 << 10), None);
    }

    #[test]
    fn what_is_kept_and_used_stays_within_the_budget() {
        let budget = Budget::new(3 << 18);
        let blocks = Blocks::new(budget.clone());
        for _ in 0..4 {
            blocks.give_back(vec![0u32; 1 << 16]);
        }
        assert_eq!(blocks.kept().bytes, 3 << 18);
        // A reservation that finds no block of its own frees the others.
        let reserved = budget.reserve(1 << 18).unwrap();
        assert_eq!(blocks.take::<u32>(1 << 15), None);
        assert_eq!(blocks.kept().bytes, 0);
        for _ in 0..4 {
            blocks.give_back(vec![0u32; 1 << 16]);
        }
        assert_eq!(blocks.kept().bytes, 2 << 18);
        drop(reserved);
    }

    #[test]
    fn more_than_is_kept_at_most_frees_what_was_kept_before() {
        let blocks = Blocks::new(Budget::unlimited());
        blocks.give_back(vec![0u8; MOST_BYTES / 2]);
        blocks.give_back(vec![0u8; MOST_BYTES / 2 + 1]);
        assert_eq!(blocks.kept().bytes, MOST_BYTES / 2 + 1);
        blocks.give_back(vec![0u8; MOST_BYTES + 1]);
        assert_eq!(blocks.kept().bytes, MOST_BYTES / 2 + 1);
    }
}
