//! Four blocks in a ZMM register.

use core::arch::x86_64::*;

use super::{AesBlocks, Step};
use crate::simd::Vaes512;

const N: usize = 4;

impl AesBlocks for Vaes512 {
    const N: usize = N;
    type V = __m512i;
    type State = Step<Self>;
    type RoundKey = __m512i;

    #[inline(always)]
    fn load(self, s: &[u128]) -> __m512i {
        let s = &s[..N];
        // SAFETY: `self` proves VAES, AVX-512 F and BW; `s` holds `N` blocks, and no alignment is needed.
        unsafe { _mm512_loadu_si512(s.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, s: &mut [u128], v: __m512i) {
        let s = &mut s[..N];
        // SAFETY: `self` proves VAES, AVX-512 F and BW; `s` holds `N` blocks, and no alignment is needed.
        unsafe { _mm512_storeu_si512(s.as_mut_ptr().cast(), v) }
    }

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

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_xor_si512(a, b) }
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_and_si512(a, b) }
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_add_epi64(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_sub_epi64(a, b) }
    }

    #[inline(always)]
    fn shl(self, a: __m512i, count: u32) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_sll_epi64(a, _mm_cvtsi32_si128(count as i32)) }
    }

    #[inline(always)]
    fn shr(self, a: __m512i, count: u32) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_srl_epi64(a, _mm_cvtsi32_si128(count as i32)) }
    }

    #[inline(always)]
    fn sign(self, a: __m512i) -> __m512i {
        // SAFETY: `self` proves VAES, AVX-512 F and BW.
        unsafe { _mm512_srai_epi64::<63>(a) }
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

    #[inline(always)]
    fn round_key(self, key: u128) -> __m512i {
        self.splat(key)
    }

    #[inline(always)]
    fn begin(self, step: &Step<Self>) -> Step<Self> {
        *step
    }

    #[inline(always)]
    fn round(self, state: &mut Step<Self>, key: &__m512i) {
        for v in state {
            // SAFETY: `self` proves VAES, AVX-512 F and BW.
            *v = unsafe { _mm512_aesenc_epi128(*v, *key) };
        }
    }

    #[inline(always)]
    fn end(self, mut state: Step<Self>, last: &Step<Self>) -> Step<Self> {
        for (v, key) in state.iter_mut().zip(last) {
            // SAFETY: `self` proves VAES, AVX-512 F and BW.
            *v = unsafe { _mm512_aesenclast_epi128(*v, *key) };
        }
        state
    }

    #[inline(always)]
    fn prefetch<T>(self, s: &[T]) {
        // SAFETY: a prefetch reads nothing and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(s.as_ptr().cast()) }
    }
}
