//! Four blocks in a ZMM register.

use core::arch::x86_64::*;

use super::{AesBlocks, Step, registers::in_registers};
use crate::simd::{Vaes512, instructions, memory, shifts};

const N: usize = 4;

impl AesBlocks for Vaes512 {
    const N: usize = N;

    in_registers! { __m512i: round = _mm512_aesenc_epi128, last_round = _mm512_aesenclast_epi128 }

    memory! { __m512i, [u128]: _mm512_loadu_si512, _mm512_storeu_si512 }

    #[inline(always)]
    fn prefetch_write(self, s: &[u128]) {
        // SAFETY: a hint reads and writes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(s.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat(self, block: u128) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_broadcast_i32x4(_mm_set_epi64x((block >> 64) as i64, block as i64)) }
    }

    #[inline(always)]
    fn zip(self, lo: &[u64], hi: &[u64]) -> __m512i {
        let (lo, hi) = (&lo[..N], &hi[..N]);
        // SAFETY: `self` proves VAES, AVX-512 F and BW; both slices hold `N` words, and no alignment is needed.
        unsafe {
            let lo = _mm512_castsi256_si512(_mm256_loadu_si256(lo.as_ptr().cast()));
            let hi = _mm512_castsi256_si512(_mm256_loadu_si256(hi.as_ptr().cast()));
            // indices 0..8 select words of `lo`, 8..16 words of `hi`
            _mm512_permutex2var_epi64(lo, _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), hi)
        }
    }

    instructions! { __m512i:
        xor(a, b) = _mm512_xor_si512;
        and(a, b) = _mm512_and_si512;
        add(a, b) = _mm512_add_epi64;
        sub(a, b) = _mm512_sub_epi64;
        sign(a) = _mm512_srai_epi64::<63>;
    }

    shifts! { __m512i:
        shl = _mm512_sll_epi64;
        shr = _mm512_srl_epi64;
    }

    #[inline(always)]
    fn spread(self, a: __m512i) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_srai_epi32::<31>(_mm512_slli_epi32::<31>(_mm512_shuffle_epi32::<_MM_PERM_AAAA>(a))) }
    }

    #[inline(always)]
    fn differ(self, a: __m512i) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_xor_si512(a, _mm512_srli_epi64::<1>(a)) }
    }

    #[inline(always)]
    fn prefix(self, a: __m512i) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe {
            // a shift by 127 - pos in two parts: vector shifts by 64 and more give zero, and 63 - pos stops at zero
            let pos = _mm512_and_si512(a, _mm512_set1_epi64(127));
            let shift = _mm512_subs_epu16(_mm512_set_epi64(127, 63, 127, 63, 127, 63, 127, 63), pos);
            _mm512_srlv_epi64(_mm512_set1_epi64(-1), shift)
        }
    }
}
