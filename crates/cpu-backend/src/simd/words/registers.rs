//! Field operations in registers, by instructions that AVX2 and AVX-512 both have.
//!
//! # Safety
//!
//! Loads and stores require what [`WordLanes`] requires.

use core_types::field::P;

use super::{WordLanes, WordVectors};

/// Instructions on registers of words.
///
/// Numbers of 64 bits lie in the places of two words: an even one and the odd one after it.
pub(crate) trait Registers: WordLanes {
    /// The 64-bit `number` everywhere.
    fn splat_64(self, number: u64) -> Self::V;
    /// Bitwise and.
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bitwise or.
    fn or(self, a: Self::V, b: Self::V) -> Self::V;

    /// Sums of words modulo 2^32.
    fn add_32(self, a: Self::V, b: Self::V) -> Self::V;
    /// Differences of words modulo 2^32.
    fn sub_32(self, a: Self::V, b: Self::V) -> Self::V;
    /// The smaller words.
    fn min_32(self, a: Self::V, b: Self::V) -> Self::V;
    /// Words shifted left by one.
    fn doubled_32(self, a: Self::V) -> Self::V;
    /// Words shifted right by one.
    fn halved_32(self, a: Self::V) -> Self::V;
    /// Words shifted left by `count` bits.
    fn shl_32(self, a: Self::V, count: u32) -> Self::V;
    /// Words shifted right by `count` bits.
    fn shr_32(self, a: Self::V, count: u32) -> Self::V;

    /// Sums modulo 2^64.
    fn add_64(self, a: Self::V, b: Self::V) -> Self::V;
    /// Differences modulo 2^64.
    fn sub_64(self, a: Self::V, b: Self::V) -> Self::V;
    /// 64-bit numbers shifted left by one.
    fn doubled_64(self, a: Self::V) -> Self::V;
    /// 64-bit numbers shifted left by 32 bits: the even words in the odd places.
    fn raised(self, a: Self::V) -> Self::V;
    /// 64-bit numbers shifted right by 31 bits.
    fn over_p(self, a: Self::V) -> Self::V;
    /// 64-bit numbers shifted right by 32 bits: the odd words in the even places.
    fn lowered(self, a: Self::V) -> Self::V;
    /// The 64-bit products of the even words.
    fn mul_even(self, a: Self::V, b: Self::V) -> Self::V;

    /// The even words of `even` and the odd words of `odd`.
    fn alternate(self, even: Self::V, odd: Self::V) -> Self::V;
    /// The low words of 64-bit numbers: of `even` in the even places, of `odd` in the odd ones.
    fn low_words(self, even: Self::V, odd: Self::V) -> Self::V;
    /// The high words of 64-bit numbers, as [`low_words`](Self::low_words).
    fn high_words(self, even: Self::V, odd: Self::V) -> Self::V;
}

/// The type and the methods of [`WordLanes`] that differ in names of instructions.
macro_rules! words_in_registers {
    ($vector:ty: load = $load:path, store = $store:path, splat = $splat:path) => {
        type V = $vector;

        #[inline(always)]
        unsafe fn load(self, source: *const u32) -> $vector {
            // SAFETY: `self` proves the instructions, the caller vouches for `WIDTH` readable words.
            unsafe { $load(source.cast()) }
        }

        #[inline(always)]
        unsafe fn store(self, target: *mut u32, v: $vector) {
            // SAFETY: `self` proves the instructions, the caller vouches for `WIDTH` writable words.
            unsafe { $store(target.cast(), v) }
        }

        #[inline(always)]
        fn prefetch(self, source: *const u32) {
            // SAFETY: `self` proves instructions that imply SSE; a prefetch accesses nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(source.cast()) }
        }

        #[inline(always)]
        fn prefetch_for_store(self, target: *const u32) {
            // SAFETY: `self` proves instructions that imply SSE; a prefetch accesses nothing.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(target.cast()) }
        }

        #[inline(always)]
        fn splat(self, word: u32) -> $vector {
            // SAFETY: `self` proves the instructions.
            unsafe { $splat(word as i32) }
        }
    };
}
pub(super) use words_in_registers;

/// `words < 2 P` modulo P.
#[inline(always)]
pub(super) fn reduced<L: Registers>(l: L, words: L::V) -> L::V {
    l.min_32(words, l.sub_32(words, l.splat(P)))
}

/// Reduces 64-bit products `2 x t` of the even and the odd lanes to `x t`.
///
/// The result is the high word plus half the low word.
#[inline(always)]
fn reduced_products<L: Registers>(l: L, even: L::V, odd: L::V) -> L::V {
    let (high, low) = (l.high_words(even, odd), l.low_words(even, odd));
    reduced(l, l.add_32(high, l.halved_32(low)))
}

impl<L: Registers> WordVectors for L {
    #[inline(always)]
    fn add(self, a: L::V, b: L::V) -> L::V {
        reduced(self, self.add_32(a, b))
    }

    #[inline(always)]
    fn sub(self, a: L::V, b: L::V) -> L::V {
        let difference = self.sub_32(a, b);
        self.min_32(difference, self.add_32(difference, self.splat(P)))
    }

    #[inline(always)]
    fn doubled(self, a: L::V) -> L::V {
        self.doubled_32(a)
    }

    #[inline(always)]
    fn mul(self, a: L::V, doubled: L::V) -> L::V {
        let even = self.mul_even(a, doubled);
        let odd = self.mul_even(self.lowered(a), self.lowered(doubled));
        reduced_products(self, even, odd)
    }

    #[inline(always)]
    fn mul_splat(self, a: L::V, doubled: L::V) -> L::V {
        let even = self.mul_even(a, doubled);
        let odd = self.mul_even(self.lowered(a), doubled);
        reduced_products(self, even, odd)
    }

    #[inline(always)]
    fn rotate(self, a: L::V, k: u32) -> L::V {
        let (left, right) = (self.shl_32(a, k), self.shr_32(a, 31 - k));
        self.or(self.and(left, self.splat(P)), right)
    }
}
