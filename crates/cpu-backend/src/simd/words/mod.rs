//! Vectors of canonical M31 words: the primitives that the circle transforms are written in.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod inverse;
mod portable;
#[cfg(target_arch = "x86_64")]
mod registers;
mod slices;
mod sums;
mod tower;
mod wide;

#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) use avx512::model::ArrayWords;
pub(crate) use inverse::{Norms, invert_lanes, invert_serially};
#[cfg(target_arch = "x86_64")]
pub(crate) use registers::Registers;
pub(crate) use slices::Slices;
pub(crate) use sums::ProductSums;
pub(crate) use tower::{complex_product, secure_product};
pub(crate) use wide::Wide;

use super::Token;

/// Vectors of `2^LOG` words: how they are loaded, stored and rearranged.
///
/// A value of the implementing token proves that the processor has the instructions.
///
/// The lowest `LOG` layers pair words of one vector. They run on pairs of vectors: seen as
/// `LOG + 1` index bits, one for the vector and `LOG` for the lane, [`split`](Self::split) step `k`
/// moves data bit `k` to the vector bit, so that the butterfly of layer `k` is between whole
/// vectors. After step `LOG` every word is back at its place. [`merge`](Self::merge) step `k`
/// undoes split step `k`.
pub(crate) trait WordLanes: Token {
    /// Log of the number of words.
    const LOG: u32;
    /// Number of words.
    const WIDTH: usize = 1 << Self::LOG;
    /// A vector.
    type V: Copy;

    /// `WIDTH` words from `source`.
    ///
    /// # Safety
    /// They are readable; no alignment is needed.
    unsafe fn load(self, source: *const u32) -> Self::V;
    /// `WIDTH` words to `target`.
    ///
    /// # Safety
    /// They are writable; no alignment is needed.
    unsafe fn store(self, target: *mut u32, v: Self::V);
    /// Prefetches the cache line that holds `source`; any address may be given.
    #[inline(always)]
    fn prefetch(self, _source: *const u32) {}
    /// Prefetches the cache line that holds `target`, to be stored to; any address may be given.
    #[inline(always)]
    fn prefetch_for_store(self, _target: *const u32) {}
    /// `word` in every lane.
    fn splat(self, word: u32) -> Self::V;
    /// Step `K` of `0..=LOG` towards higher layers.
    fn split<const K: u32>(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
    /// The inverse of split step `K`.
    fn merge<const K: u32>(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
    /// Doubled twiddles of layer 0 between split steps 0 and 1.
    ///
    /// They are computed from `WIDTH / 2` doubled twiddles of layer 1.
    ///
    /// Points of a pair of pairs are `(x, y), (x, -y), (-x, -y), (-x, y)` and the next four have
    /// `x` and `y` exchanged, so twiddles `x0, x1` of layer 1 give `x1, -x1, -x0, x0` for layer 0.
    /// Inverses follow the same pattern.
    ///
    /// # Safety
    /// The twiddles are readable; no alignment is needed.
    unsafe fn circle_twiddles(self, layer_1: *const u32) -> Self::V;
    /// Doubled twiddles of layer `K` of `1..LOG` between split steps `K` and `K + 1`.
    ///
    /// They are expanded from `WIDTH >> K` doubled twiddles.
    ///
    /// # Safety
    /// The twiddles are readable; no alignment is needed.
    unsafe fn line_twiddles<const K: u32>(self, layer: *const u32) -> Self::V;
}

/// Vectors of canonical words, with the operations of the field.
pub(crate) trait WordVectors: WordLanes {
    /// Field sums.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Field differences.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Twice the words as numbers, which is what products take as factors.
    fn doubled(self, a: Self::V) -> Self::V;
    /// Field products with doubled factors.
    fn mul(self, a: Self::V, doubled: Self::V) -> Self::V;
    /// Field products with one doubled factor, the same in every lane of `doubled`.
    fn mul_splat(self, a: Self::V, doubled: Self::V) -> Self::V;
    /// Products with `2^k`, `0 <= k < 31`.
    fn rotate(self, a: Self::V, k: u32) -> Self::V;
}

/// Complementing the 31 upper bits of a doubled twiddle negates it: `2 P - 2 t`.
const NEGATE: u32 = 2 * core_types::field::P;
