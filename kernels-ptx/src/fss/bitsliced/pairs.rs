//! Which keys a warp takes.

use core_types::bitsliced::owner_at;

use super::{HALVES, WARP_KEYS, WARPS};
use crate::{dev::idx, fss::GROUP};

/// Pairs of groups, each for one warp.
#[derive(Clone, Copy)]
pub(super) struct Pairs {
    /// Keys in all.
    keys: u32,
    next: u32,
}

/// A warp's two groups among the keys.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// Keys in all.
    keys: u32,
    /// The first key of the first group.
    pub(super) first: u64,
}

impl Pairs {
    /// The pairs of `keys` keys that the calling warp takes.
    ///
    /// The grid has blocks of [`WARPS`] along its first dimension.
    #[inline(always)]
    pub(super) fn of_warp(keys: u32) -> Self {
        Self { keys, next: idx::bid_x() * WARPS + idx::warp() }
    }
}

impl Iterator for Pairs {
    type Item = Pair;

    #[inline(always)]
    fn next(&mut self) -> Option<Pair> {
        let (pair, keys) = (self.next, self.keys);
        self.next = pair + idx::gdim_x() * WARPS;
        (pair < keys.div_ceil(WARP_KEYS)).then_some(Pair { keys, first: u64::from(pair) * u64::from(WARP_KEYS) })
    }
}

impl Pair {
    /// Whether key `owner` of the group of `half` exists.
    #[inline(always)]
    pub(super) fn has(self, half: u32, owner: u32) -> bool {
        self.key(half, owner) < u64::from(self.keys)
    }

    /// Key `owner` of the group of `half`, counted from the batch's first.
    #[inline(always)]
    pub(super) fn key(self, half: u32, owner: u32) -> u64 {
        self.first + u64::from(half * GROUP + owner)
    }

    /// The words of the two keys whose bits in planes are the lane's.
    ///
    /// The word is 0 for a key that does not exist.
    ///
    /// # Safety
    /// `words` holds the words of all keys.
    #[inline(always)]
    pub(super) unsafe fn words(self, words: *const u64) -> [u64; HALVES as usize] {
        let owner = owner_at(idx::lane());
        [0, 1].map(|half| if self.has(half, owner) { *words.add(self.key(half, owner) as usize) } else { 0 })
    }
}
