//! Exchange between the 32 lanes of a warp.
//!
//! The lanes in `mask` must all call, from one place in uniform control flow.

use core_types::field::{M31, QM31};

use super::intrinsics as llvm;

/// The mask of a full warp.
pub const FULL: u32 = u32::MAX;

/// A value of whole words that lanes exchange.
pub trait Lanes: Copy {
    /// Applies an exchange of words to each word.
    fn exchange(self, word: impl Fn(u32) -> u32) -> Self;
}

impl Lanes for u32 {
    #[inline(always)]
    fn exchange(self, word: impl Fn(u32) -> u32) -> Self {
        word(self)
    }
}

impl Lanes for f32 {
    #[inline(always)]
    fn exchange(self, word: impl Fn(u32) -> u32) -> Self {
        Self::from_bits(word(self.to_bits()))
    }
}

impl Lanes for QM31 {
    #[inline(always)]
    fn exchange(self, word: impl Fn(u32) -> u32) -> Self {
        Self::from_coordinates(self.coordinates().map(|coordinate| M31::from_u32(word(coordinate.word()))))
    }
}

impl Lanes for u64 {
    #[inline(always)]
    fn exchange(self, word: impl Fn(u32) -> u32) -> Self {
        let (low, high) = (word(self as u32), word((self >> 32) as u32));
        u64::from(high) << 32 | u64::from(low)
    }
}

/// The value of lane `source`.
#[inline(always)]
pub fn shfl_idx<T: Lanes>(mask: u32, value: T, source: u32) -> T {
    // SAFETY: the lanes of `mask` all call; see the module.
    value.exchange(|word| unsafe { llvm::shfl_idx(mask, word, source, 31) })
}

/// The value of the lane `delta` below, or the caller's own where there is none.
#[inline(always)]
pub fn shfl_up<T: Lanes>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: the lanes of `mask` all call; see the module.
    value.exchange(|word| unsafe { llvm::shfl_up(mask, word, delta, 0) })
}

/// The value of the lane whose index differs in the bits `lanes`.
#[inline(always)]
pub fn shfl_xor<T: Lanes>(mask: u32, value: T, lanes: u32) -> T {
    // SAFETY: the lanes of `mask` all call; see the module.
    value.exchange(|word| unsafe { llvm::shfl_bfly(mask, word, lanes, 31) })
}

/// One bit per lane: its predicate.
#[inline(always)]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the lanes of `mask` all call; see the module.
    unsafe { llvm::vote_ballot(mask, predicate) }
}

/// Whether the predicate of any lane holds.
#[inline(always)]
pub fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the lanes of `mask` all call; see the module.
    unsafe { llvm::vote_any(mask, predicate) }
}

/// The greatest value of the lanes.
#[inline(always)]
pub fn redux_max(mask: u32, value: u32) -> u32 {
    // SAFETY: the lanes of `mask` all call; see the module.
    unsafe { llvm::redux_max(value, mask) }
}

/// `combine` over all 32 lanes, by a butterfly; every lane gets the result.
///
/// Lanes combine in the order of a balanced tree, the same for every lane if `combine` commutes.
#[inline(always)]
pub fn reduce<T: Lanes>(mut value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut distance = 16;
    while distance > 0 {
        value = combine(value, shfl_xor(FULL, value, distance));
        distance >>= 1;
    }
    value
}
