//! Vectors of canonical M31 words: the primitives that the transforms are written in.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512;
#[cfg(all(test, target_arch = "x86_64"))]
pub(super) use avx512::model::Model;
pub(super) use portable::Portable;

/// A vector of `2^LOG` canonical words.
///
/// The lowest `LOG` layers pair words of one vector. They run on pairs of vectors: seen as `LOG + 1` index bits, one for
/// the vector and `LOG` for the lane, [`split`](Self::split) step `k` brings data bit `k` to the vector bit, so that the
/// butterfly of layer `k` is between whole vectors. After step `LOG` every word is back at its place.
/// [`merge`](Self::merge) step `k` undoes split step `k`.
///
/// # Safety
/// All methods require a processor that has the level of the implementation; pointers must be valid for the words that
/// the method names, without alignment.
pub(super) trait Lanes: Copy {
    /// Log of the number of words.
    const LOG: u32;
    /// Number of words.
    const WIDTH: usize = 1 << Self::LOG;

    /// `WIDTH` words from `source`.
    unsafe fn load(source: *const u32) -> Self;
    /// `WIDTH` words to `target`.
    unsafe fn store(self, target: *mut u32);
    /// `word` in every lane.
    unsafe fn splat(word: u32) -> Self;
    /// Field sums.
    unsafe fn add(self, rhs: Self) -> Self;
    /// Field differences.
    unsafe fn sub(self, rhs: Self) -> Self;
    /// Field products with doubled factors.
    unsafe fn mul(self, doubled: Self) -> Self;
    /// Field products with one doubled factor, the same in every lane of `doubled`.
    unsafe fn mul_splat(self, doubled: Self) -> Self;
    /// Products with `2^k`, `0 <= k < 31`.
    unsafe fn rotate(self, k: u32) -> Self;
    /// Step `K` of `0..=LOG` towards higher layers.
    unsafe fn split<const K: u32>(a: Self, b: Self) -> (Self, Self);
    /// The inverse of split step `K`.
    unsafe fn merge<const K: u32>(a: Self, b: Self) -> (Self, Self);
    /// Doubled factors of layer 0 between split steps 0 and 1, from `WIDTH / 2` doubled factors of layer 1.
    ///
    /// Points of a pair of pairs are `(x, y), (x, -y), (-x, -y), (-x, y)` and the next four have `x` and `y` exchanged,
    /// so factors `x0, x1` of layer 1 give `x1, -x1, -x0, x0` for layer 0. Inverses follow the same pattern.
    unsafe fn circle_twiddles(layer_1: *const u32) -> Self;
    /// Doubled factors of layer `K` of `1..LOG` between split steps `K` and `K + 1`, from `WIDTH >> K` of them.
    unsafe fn line_twiddles<const K: u32>(layer: *const u32) -> Self;
}

/// Complementing the 31 upper bits of a doubled factor negates it: `2 P - 2 t`.
const NEGATE: u32 = 2 * core_types::field::P;
