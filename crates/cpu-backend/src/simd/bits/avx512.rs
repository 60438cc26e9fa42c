//! Sixteen words in a ZMM register.

use core::arch::x86_64::*;

use super::Bits;
use crate::simd::{Avx512, instructions, memory};

/// Picks from two vectors: word `i` of the result is word `table[i]` of their concatenation.
type Table = [i32; 16];

const EVEN: Table = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
const ODD: Table = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
const FIRST_ZIPPED: Table = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
const SECOND_ZIPPED: Table = [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31];

impl Avx512 {
    /// The words of two vectors that both tables pick.
    #[inline(always)]
    fn picked(self, a: __m512i, b: __m512i, [first, second]: [&Table; 2]) -> (__m512i, __m512i) {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let (first, second) =
                (_mm512_loadu_si512(first.as_ptr().cast()), _mm512_loadu_si512(second.as_ptr().cast()));
            (_mm512_permutex2var_epi32(a, first, b), _mm512_permutex2var_epi32(a, second, b))
        }
    }
}

impl Bits for Avx512 {
    const LOG: u32 = 4;
    type V = __m512i;

    #[inline(always)]
    fn splat(self, word: u32) -> __m512i {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_set1_epi32(word as i32) }
    }

    memory! { __m512i, [u32]: _mm512_loadu_si512, _mm512_storeu_si512 }

    #[inline(always)]
    fn prefetch(self, source: *const u32) {
        // SAFETY: `self` proves AVX-512, which implies SSE; a prefetch accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(source.cast()) }
    }

    instructions! { __m512i:
        add(a, b) = _mm512_add_epi32;
        xor(a, b) = _mm512_xor_si512;
        rotate_7(a) = _mm512_ror_epi32::<7>;
        rotate_8(a) = _mm512_ror_epi32::<8>;
        rotate_12(a) = _mm512_ror_epi32::<12>;
        rotate_16(a) = _mm512_ror_epi32::<16>;
    }

    #[inline(always)]
    fn zip(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        self.picked(a, b, [&FIRST_ZIPPED, &SECOND_ZIPPED])
    }

    #[inline(always)]
    fn unzip(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        self.picked(a, b, [&EVEN, &ODD])
    }
}
