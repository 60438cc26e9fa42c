//! One block in an XMM register.

use core::arch::x86_64::*;

use super::{AesBlocks, Step, registers::in_registers};
use crate::simd::{AesNi, instructions, memory, shifts};

const N: usize = 1;

impl AesBlocks for AesNi {
    const N: usize = N;

    in_registers! { __m128i: round = _mm_aesenc_si128, last_round = _mm_aesenclast_si128 }

    memory! { __m128i, [u128]: _mm_loadu_si128, _mm_storeu_si128 }

    #[inline(always)]
    fn splat(self, block: u128) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_set_epi64x((block >> 64) as i64, block as i64) }
    }

    #[inline(always)]
    fn zip(self, lo: &[u64], hi: &[u64]) -> __m128i {
        let (lo, hi) = (&lo[..N], &hi[..N]);
        // SAFETY: `self` proves AES-NI and SSE4.1; both slices hold `N` words, and no alignment is needed.
        unsafe { _mm_set_epi64x(hi[0] as i64, lo[0] as i64) }
    }

    instructions! { __m128i:
        xor(a, b) = _mm_xor_si128;
        and(a, b) = _mm_and_si128;
        add(a, b) = _mm_add_epi64;
        sub(a, b) = _mm_sub_epi64;
    }

    shifts! { __m128i:
        shl = _mm_sll_epi64;
        shr = _mm_srl_epi64;
    }

    #[inline(always)]
    fn sign(self, a: __m128i) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_srai_epi32::<31>(_mm_shuffle_epi32::<0xf5>(a)) }
    }

    #[inline(always)]
    fn spread(self, a: __m128i) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_srai_epi32::<31>(_mm_slli_epi32::<31>(_mm_shuffle_epi32::<0x00>(a))) }
    }

    #[inline(always)]
    fn differ(self, a: __m128i) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_xor_si128(a, _mm_srli_epi64::<1>(a)) }
    }

    #[inline(always)]
    fn prefix(self, a: __m128i) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe {
            let pos = _mm_cvtsi128_si64(a) as u64 & 127;
            // a shift by 127 - pos in two parts: x86 shifts of 64-bit words by 64 and more give zero
            let low = _mm_cvtsi32_si128(63u64.saturating_sub(pos) as i32);
            let high = _mm_cvtsi32_si128((127 - pos) as i32);
            let ones = _mm_set1_epi64x(-1);
            _mm_unpacklo_epi64(_mm_srl_epi64(ones, low), _mm_srl_epi64(ones, high))
        }
    }
}
