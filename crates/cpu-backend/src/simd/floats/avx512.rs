//! Sixteen lanes in a ZMM register.

use core::arch::x86_64::*;

use super::Floats;
use crate::simd::Avx512;

const N: usize = 16;

/// Ones in the lowest `len < 16` bits.
#[inline(always)]
fn mask(len: usize) -> __mmask16 {
    debug_assert!(len < N);
    ((1u32 << (len % N)) - 1) as __mmask16
}

impl Floats for Avx512 {
    const N: usize = N;
    type V = __m512;

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, s: &[f32]) -> __m512 {
        let s = &s[..N];
        // SAFETY: `self` proves AVX-512; `s` holds 16 elements, and no alignment is needed.
        unsafe { _mm512_loadu_ps(s.as_ptr()) }
    }

    #[inline(always)]
    fn load_partial(self, s: &[f32], fill: f32) -> __m512 {
        // SAFETY: `self` proves AVX-512; `mask(s.len())` has at most `s.len()` bits, so only elements of `s` are read.
        unsafe { _mm512_mask_loadu_ps(_mm512_set1_ps(fill), mask(s.len()), s.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, s: &mut [f32], v: __m512) {
        let s = &mut s[..N];
        // SAFETY: `self` proves AVX-512; `s` holds 16 elements, and no alignment is needed.
        unsafe { _mm512_storeu_ps(s.as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_partial(self, s: &mut [f32], v: __m512) {
        // SAFETY: `self` proves AVX-512; `mask(s.len())` has at most `s.len()` bits, so only elements of `s` are written.
        unsafe { _mm512_mask_storeu_ps(s.as_mut_ptr(), mask(s.len()), v) }
    }

    #[inline(always)]
    fn prefetch(self, s: &[f32], at: usize) {
        // SAFETY: `self` proves AVX-512, which implies SSE; a prefetch accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(s.as_ptr().wrapping_add(at).cast()) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn neg_mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_fnmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    fn shift_exponent(self, v: __m512, t: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let exponent = _mm512_slli_epi32::<23>(_mm512_castps_si512(t));
            _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(v), exponent))
        }
    }

    #[inline(always)]
    fn select_gt(self, a: __m512, b: __m512, x: __m512, y: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), y, x) }
    }

    #[inline(always)]
    fn sum(self, v: __m512) -> f32 {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let o = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
            let h = _mm_add_ps(_mm256_castps256_ps128(o), _mm256_extractf128_ps::<1>(o));
            let q = _mm_add_ps(h, _mm_movehl_ps(h, h));
            _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)))
        }
    }

    #[inline(always)]
    fn greatest(self, v: __m512) -> f32 {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_reduce_max_ps(v) }
    }
}
