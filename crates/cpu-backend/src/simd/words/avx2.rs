//! Eight words in a YMM register.

use core::arch::x86_64::*;

use super::{
    NEGATE, WordLanes,
    registers::{Registers, words_in_registers},
};
use crate::simd::{Avx2, instructions, shifts};

impl Avx2 {
    /// Exchanges the vector bit with lane bit 2.
    #[inline(always)]
    fn exchange_halves(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        // SAFETY: `self` proves AVX2.
        unsafe { (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b)) }
    }

    /// Even and odd words of each 128-bit half.
    ///
    /// The vector bit takes lane bit 0, bit 0 takes bit 1, and bit 1 takes the vector bit.
    #[inline(always)]
    fn unzip(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
            let (even, odd) = (_mm256_shuffle_ps::<0x88>(a, b), _mm256_shuffle_ps::<0xdd>(a, b));
            (_mm256_castps_si256(even), _mm256_castps_si256(odd))
        }
    }

    /// The inverse of [`unzip`](Self::unzip).
    #[inline(always)]
    fn zip(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        // SAFETY: `self` proves AVX2.
        unsafe { (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)) }
    }
}

impl WordLanes for Avx2 {
    const LOG: u32 = 3;

    words_in_registers! { __m256i:
        load = _mm256_loadu_si256, store = _mm256_storeu_si256, splat = _mm256_set1_epi32
    }

    // Index bits as (vector; lane 2, 1, 0) are (b3; b2 b1 b0) at first, (b2; b3 b1 b0) after exchanging halves, then
    // (b0; b3 b2 b1), (b1; b3 b0 b2), (b2; b3 b1 b0) after three unzips, and exchanging halves restores them.

    #[inline(always)]
    fn split<const K: u32>(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        match K {
            0 => {
                let (a, b) = self.exchange_halves(a, b);
                self.unzip(a, b)
            }
            1 | 2 => self.unzip(a, b),
            _ => self.exchange_halves(a, b),
        }
    }

    #[inline(always)]
    fn merge<const K: u32>(self, a: __m256i, b: __m256i) -> (__m256i, __m256i) {
        match K {
            0 => {
                let (a, b) = self.zip(a, b);
                self.exchange_halves(a, b)
            }
            1 | 2 => self.zip(a, b),
            _ => self.exchange_halves(a, b),
        }
    }

    #[inline(always)]
    unsafe fn circle_twiddles(self, layer_1: *const u32) -> __m256i {
        // SAFETY: `self` proves AVX2, the caller vouches for four readable words; the pattern uses those alone.
        unsafe {
            let twiddles = _mm256_castsi128_si256(_mm_loadu_si128(layer_1.cast()));
            let pattern = _mm256_setr_epi32(1, 1, 0, 0, 3, 3, 2, 2);
            let n = NEGATE as i32;
            let signs = _mm256_setr_epi32(0, n, n, 0, 0, n, n, 0);
            _mm256_xor_si256(_mm256_permutevar8x32_epi32(twiddles, pattern), signs)
        }
    }

    #[inline(always)]
    unsafe fn line_twiddles<const K: u32>(self, layer: *const u32) -> __m256i {
        // SAFETY: `self` proves AVX2, the caller vouches for four (K = 1) or two (K = 2) readable words; the patterns use
        // those alone.
        unsafe {
            let (twiddles, pattern) = match K {
                1 => (_mm_loadu_si128(layer.cast()), _mm256_setr_epi32(0, 1, 0, 1, 2, 3, 2, 3)),
                _ => (_mm_loadl_epi64(layer.cast()), _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1)),
            };
            _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(twiddles), pattern)
        }
    }
}

impl Registers for Avx2 {
    instructions! { __m256i:
        and(a, b) = _mm256_and_si256;
        or(a, b) = _mm256_or_si256;
        add_32(a, b) = _mm256_add_epi32;
        sub_32(a, b) = _mm256_sub_epi32;
        min_32(a, b) = _mm256_min_epu32;
        doubled_32(a) = _mm256_slli_epi32::<1>;
        halved_32(a) = _mm256_srli_epi32::<1>;
        add_64(a, b) = _mm256_add_epi64;
        sub_64(a, b) = _mm256_sub_epi64;
        doubled_64(a) = _mm256_slli_epi64::<1>;
        raised(a) = _mm256_slli_epi64::<32>;
        over_p(a) = _mm256_srli_epi64::<31>;
        lowered(a) = _mm256_srli_epi64::<32>;
        mul_even(a, b) = _mm256_mul_epu32;
        alternate(even, odd) = _mm256_blend_epi32::<0xaa>;
    }

    shifts! { __m256i:
        shl_32 = _mm256_sll_epi32;
        shr_32 = _mm256_srl_epi32;
    }

    #[inline(always)]
    fn splat_64(self, number: u64) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe { _mm256_set1_epi64x(number as i64) }
    }

    #[inline(always)]
    fn low_words(self, even: __m256i, odd: __m256i) -> __m256i {
        self.alternate(even, self.raised(odd))
    }

    #[inline(always)]
    fn high_words(self, even: __m256i, odd: __m256i) -> __m256i {
        self.alternate(self.lowered(even), odd)
    }
}
