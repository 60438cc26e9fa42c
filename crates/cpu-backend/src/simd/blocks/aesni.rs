//! One block in an XMM register.

use core::arch::x86_64::*;

use super::{AesBlocks, Step};
use crate::simd::AesNi;

const N: usize = 1;

impl AesBlocks for AesNi {
    const N: usize = N;
    type V = __m128i;
    type State = Step<Self>;
    type RoundKey = __m128i;

    #[inline(always)]
    fn load(self, s: &[u128]) -> __m128i {
        let s = &s[..N];
        // SAFETY: `self` proves AES-NI and SSE4.1; `s` holds `N` blocks, and no alignment is needed.
        unsafe { _mm_loadu_si128(s.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, s: &mut [u128], v: __m128i) {
        let s = &mut s[..N];
        // SAFETY: `self` proves AES-NI and SSE4.1; `s` holds `N` blocks, and no alignment is needed.
        unsafe { _mm_storeu_si128(s.as_mut_ptr().cast(), v) }
    }

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

    #[inline(always)]
    fn xor(self, a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_xor_si128(a, b) }
    }

    #[inline(always)]
    fn and(self, a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_and_si128(a, b) }
    }

    #[inline(always)]
    fn add(self, a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_add_epi64(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_sub_epi64(a, b) }
    }

    #[inline(always)]
    fn shl(self, a: __m128i, count: u32) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_sll_epi64(a, _mm_cvtsi32_si128(count as i32)) }
    }

    #[inline(always)]
    fn shr(self, a: __m128i, count: u32) -> __m128i {
        // SAFETY: `self` proves AES-NI and SSE4.1.
        unsafe { _mm_srl_epi64(a, _mm_cvtsi32_si128(count as i32)) }
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

    #[inline(always)]
    fn round_key(self, key: u128) -> __m128i {
        self.splat(key)
    }

    #[inline(always)]
    fn begin(self, step: &Step<Self>) -> Step<Self> {
        *step
    }

    #[inline(always)]
    fn round(self, state: &mut Step<Self>, key: &__m128i) {
        for v in state {
            // SAFETY: `self` proves AES-NI and SSE4.1.
            *v = unsafe { _mm_aesenc_si128(*v, *key) };
        }
    }

    #[inline(always)]
    fn end(self, mut state: Step<Self>, last: &Step<Self>) -> Step<Self> {
        for (v, key) in state.iter_mut().zip(last) {
            // SAFETY: `self` proves AES-NI and SSE4.1.
            *v = unsafe { _mm_aesenclast_si128(*v, *key) };
        }
        state
    }

    #[inline(always)]
    fn prefetch<T>(self, s: &[T]) {
        // SAFETY: a prefetch reads nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(s.as_ptr().cast()) }
    }
}
