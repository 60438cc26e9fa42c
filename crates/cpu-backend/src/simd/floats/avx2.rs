//! Eight lanes in a YMM register.

use core::arch::x86_64::*;

use super::Floats;
use crate::simd::Avx2;

const N: usize = 8;

impl Avx2 {
    /// All-ones words in the first `len < 8` lanes.
    #[inline(always)]
    fn mask(self, len: usize) -> __m256i {
        const ONES_THEN_ZEROS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = &ONES_THEN_ZEROS[N - len..][..N];
        // SAFETY: `words` holds 32 bytes; `self` proves AVX.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }
}

impl Floats for Avx2 {
    const N: usize = N;
    type V = __m256;

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, s: &[f32]) -> __m256 {
        let s = &s[..N];
        // SAFETY: `self` proves AVX2; `s` holds 8 elements, and no alignment is needed.
        unsafe { _mm256_loadu_ps(s.as_ptr()) }
    }

    #[inline(always)]
    fn load_partial(self, s: &[f32], fill: f32) -> __m256 {
        let mask = self.mask(s.len());
        // SAFETY: `self` proves AVX2; only the `s.len()` lanes of the mask are read from memory.
        unsafe {
            let v = _mm256_maskload_ps(s.as_ptr(), mask);
            _mm256_blendv_ps(_mm256_set1_ps(fill), v, _mm256_castsi256_ps(mask))
        }
    }

    #[inline(always)]
    fn store(self, s: &mut [f32], v: __m256) {
        let s = &mut s[..N];
        // SAFETY: `self` proves AVX2; `s` holds 8 elements, and no alignment is needed.
        unsafe { _mm256_storeu_ps(s.as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_partial(self, s: &mut [f32], v: __m256) {
        let mask = self.mask(s.len());
        // SAFETY: `self` proves AVX2; only the `s.len()` lanes of the mask are written.
        unsafe { _mm256_maskstore_ps(s.as_mut_ptr(), mask, v) }
    }

    #[inline(always)]
    fn prefetch(self, s: &[f32], at: usize) {
        // SAFETY: `self` proves AVX2, which implies SSE; a prefetch accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(s.as_ptr().wrapping_add(at).cast()) }
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_div_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn neg_mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_fnmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_min_ps(a, b) }
    }

    #[inline(always)]
    fn shift_exponent(self, v: __m256, t: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe {
            let exponent = _mm256_slli_epi32::<23>(_mm256_castps_si256(t));
            _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(v), exponent))
        }
    }

    #[inline(always)]
    fn select_gt(self, a: __m256, b: __m256, x: __m256, y: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_blendv_ps(y, x, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) }
    }

    #[inline(always)]
    fn sum(self, v: __m256) -> f32 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe {
            let h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let q = _mm_add_ps(h, _mm_movehl_ps(h, h));
            _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)))
        }
    }

    #[inline(always)]
    fn greatest(self, v: __m256) -> f32 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe {
            let h = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let q = _mm_max_ps(h, _mm_movehl_ps(h, h));
            _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)))
        }
    }
}
