//! Two blocks in a YMM register.

use core::arch::x86_64::*;

use super::{AesBlocks, Step, registers::in_registers};
use crate::simd::{Vaes256, instructions, memory, shifts};

const N: usize = 2;

impl AesBlocks for Vaes256 {
    const N: usize = N;

    in_registers! { __m256i: round = _mm256_aesenc_epi128, last_round = _mm256_aesenclast_epi128 }

    memory! { __m256i, [u128]: _mm256_loadu_si256, _mm256_storeu_si256 }

    #[inline(always)]
    fn splat(self, block: u128) -> __m256i {
        // SAFETY: `self` proves VAES and AVX2.
        unsafe { _mm256_broadcastsi128_si256(_mm_set_epi64x((block >> 64) as i64, block as i64)) }
    }

    #[inline(always)]
    fn zip(self, lo: &[u64], hi: &[u64]) -> __m256i {
        let (lo, hi) = (&lo[..N], &hi[..N]);
        // SAFETY: `self` proves VAES and AVX2; both slices hold `N` words, and no alignment is needed.
        unsafe {
            let lo = _mm_loadu_si128(lo.as_ptr().cast());
            let hi = _mm_loadu_si128(hi.as_ptr().cast());
            _mm256_set_m128i(_mm_unpackhi_epi64(lo, hi), _mm_unpacklo_epi64(lo, hi))
        }
    }

    instructions! { __m256i:
        xor(a, b) = _mm256_xor_si256;
        and(a, b) = _mm256_and_si256;
        add(a, b) = _mm256_add_epi64;
        sub(a, b) = _mm256_sub_epi64;
    }

    shifts! { __m256i:
        shl = _mm256_sll_epi64;
        shr = _mm256_srl_epi64;
    }

    #[inline(always)]
    fn sign(self, a: __m256i) -> __m256i {
        // SAFETY: `self` proves VAES and AVX2.
        unsafe { _mm256_cmpgt_epi64(_mm256_setzero_si256(), a) }
    }

    #[inline(always)]
    fn spread(self, a: __m256i) -> __m256i {
        // SAFETY: `self` proves VAES and AVX2.
        unsafe {
            // a lookup by the two lowest bits of each word, in a register
            let table = _mm256_castsi256_ps(_mm256_setr_epi32(0, -1, 0, -1, 0, -1, 0, -1));
            _mm256_castps_si256(_mm256_permutevar_ps(table, _mm256_shuffle_epi32::<0x00>(a)))
        }
    }

    #[inline(always)]
    fn differ(self, a: __m256i) -> __m256i {
        // SAFETY: `self` proves VAES and AVX2.
        unsafe {
            let table = _mm256_castsi256_ps(_mm256_setr_epi32(0, 1, 1, 0, 0, 1, 1, 0));
            _mm256_castps_si256(_mm256_permutevar_ps(table, a))
        }
    }

    #[inline(always)]
    fn prefix(self, a: __m256i) -> __m256i {
        // SAFETY: `self` proves VAES and AVX2.
        unsafe {
            // a shift by 127 - pos in two parts: vector shifts by 64 and more give zero, and 63 - pos stops at zero
            let pos = _mm256_and_si256(a, _mm256_set1_epi64x(127));
            let shift = _mm256_subs_epu16(_mm256_set_epi64x(127, 63, 127, 63), pos);
            _mm256_srlv_epi64(_mm256_set1_epi64x(-1), shift)
        }
    }
}
