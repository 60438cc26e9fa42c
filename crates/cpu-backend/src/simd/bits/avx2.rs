//! Eight words in a YMM register.

use core::arch::x86_64::*;

use super::Bits;
use crate::simd::{Avx2, instructions, memory};

/// Words turned by shifts; by whole bytes a shuffle does it in one step.
macro_rules! rotated {
    ($a:ident, $right:literal, $left:literal) => {
        _mm256_or_si256(_mm256_srli_epi32::<$right>($a), _mm256_slli_epi32::<$left>($a))
    };
}

impl Bits for Avx2 {
    const LOG: u32 = 3;
    type V = __m256i;

    #[inline(always)]
    fn splat(self, word: u32) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe { _mm256_set1_epi32(word as i32) }
    }

    memory! { __m256i, [u32]: _mm256_loadu_si256, _mm256_storeu_si256 }

    #[inline(always)]
    fn prefetch(self, source: *const u32) {
        // SAFETY: `self` proves AVX2, which implies SSE; a prefetch accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(source.cast()) }
    }

    instructions! { __m256i:
        add(a, b) = _mm256_add_epi32;
        xor(a, b) = _mm256_xor_si256;
    }

    #[inline(always)]
    fn rotate_7(self, a: __m256i) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe { rotated!(a, 7, 25) }
    }

    #[inline(always)]
    fn rotate_8(self, a: __m256i) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let bytes = _mm256_setr_epi8(
                1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15,
                12,
            );
            _mm256_shuffle_epi8(a, bytes)
        }
    }

    #[inline(always)]
    fn rotate_12(self, a: __m256i) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe { rotated!(a, 12, 20) }
    }

    #[inline(always)]
    fn rotate_16(self, a: __m256i) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let bytes = _mm256_setr_epi8(
                2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12,
                13,
            );
            _mm256_shuffle_epi8(a, bytes)
        }
    }

    #[inline(always)]
    fn zip(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let (low, high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)); // within halves
            (_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high))
        }
    }

    #[inline(always)]
    fn unzip(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
            let (even, odd) = (_mm256_shuffle_ps::<0x88>(a, b), _mm256_shuffle_ps::<0xdd>(a, b));
            let (even, odd) = (_mm256_castps_si256(even), _mm256_castps_si256(odd));
            (_mm256_permute4x64_epi64::<0xd8>(even), _mm256_permute4x64_epi64::<0xd8>(odd))
        }
    }
}
