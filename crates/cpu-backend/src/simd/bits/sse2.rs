//! Four words in an XMM register.
//!
//! SSE2 is in the baseline of x86-64, so this is its portable level.

use core::arch::x86_64::*;

use super::Bits;
use crate::simd::{Portable, instructions, memory};

/// Words turned by shifts.
macro_rules! rotated {
    ($a:ident, $right:literal, $left:literal) => {
        _mm_or_si128(_mm_srli_epi32::<$right>($a), _mm_slli_epi32::<$left>($a))
    };
}

impl Bits for Portable {
    const LOG: u32 = 2;
    type V = __m128i;

    #[inline(always)]
    fn splat(self, word: u32) -> __m128i {
        // SAFETY: SSE2 is in the baseline.
        unsafe { _mm_set1_epi32(word as i32) }
    }

    memory! { __m128i, [u32]: _mm_loadu_si128, _mm_storeu_si128 }

    instructions! { __m128i:
        add(a, b) = _mm_add_epi32;
        xor(a, b) = _mm_xor_si128;
    }

    #[inline(always)]
    fn rotate_7(self, a: __m128i) -> __m128i {
        // SAFETY: SSE2 is in the baseline.
        unsafe { rotated!(a, 7, 25) }
    }

    #[inline(always)]
    fn rotate_8(self, a: __m128i) -> __m128i {
        // SAFETY: SSE2 is in the baseline.
        unsafe { rotated!(a, 8, 24) }
    }

    #[inline(always)]
    fn rotate_12(self, a: __m128i) -> __m128i {
        // SAFETY: SSE2 is in the baseline.
        unsafe { rotated!(a, 12, 20) }
    }

    #[inline(always)]
    fn rotate_16(self, a: __m128i) -> __m128i {
        // SAFETY: SSE2 is in the baseline.
        unsafe { _mm_shufflehi_epi16::<0xb1>(_mm_shufflelo_epi16::<0xb1>(a)) }
    }

    #[inline(always)]
    fn zip(self, a: __m128i, b: __m128i) -> (__m128i, __m128i) {
        // SAFETY: SSE2 is in the baseline.
        unsafe { (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)) }
    }

    #[inline(always)]
    fn unzip(self, a: __m128i, b: __m128i) -> (__m128i, __m128i) {
        // SAFETY: SSE2 is in the baseline.
        unsafe {
            let (a, b) = (_mm_castsi128_ps(a), _mm_castsi128_ps(b));
            (_mm_castps_si128(_mm_shuffle_ps::<0x88>(a, b)), _mm_castps_si128(_mm_shuffle_ps::<0xdd>(a, b)))
        }
    }
}
