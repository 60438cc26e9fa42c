//! Eight lanes in a YMM register.

use core::arch::x86_64::*;

use half::{bf16, f16};

use super::{Floats, registers::floats_in_registers};
use crate::simd::{Avx2, instructions, memory};

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

    /// Lane j of row i becomes lane i of row j.
    #[inline(always)]
    fn transposed(self, rows: [__m256; N]) -> [__m256; N] {
        let (mut pairs, mut fours, mut to) = (rows, rows, rows);
        // SAFETY: `self` proves AVX2.
        unsafe {
            for i in (0..N).step_by(2) {
                pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
                pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
            }
            // Half p of `fours[4 g + c]` has lane 4 p + c of rows 4 g to 4 g + 3.
            for i in [0, 4] {
                let (a, b) = (_mm256_castps_pd(pairs[i]), _mm256_castps_pd(pairs[i + 1]));
                let (c, d) = (_mm256_castps_pd(pairs[i + 2]), _mm256_castps_pd(pairs[i + 3]));
                fours[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
                fours[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
                fours[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
                fours[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
            }
            for c in 0..4 {
                to[c] = _mm256_permute2f128_ps::<0x20>(fours[c], fours[4 + c]);
                to[4 + c] = _mm256_permute2f128_ps::<0x31>(fours[c], fours[4 + c]);
            }
        }
        to
    }
}

impl Floats for Avx2 {
    const N: usize = N;
    const REGISTERS: usize = 16;

    floats_in_registers! {
        __m256: splat = _mm256_set1_ps, as_words = _mm256_castps_si256, as_floats = _mm256_castsi256_ps,
        shl_23 = _mm256_slli_epi32::<23>, add_32 = _mm256_add_epi32;
        __m256d: load_half = _mm_loadu_ps, widen = _mm256_cvtps_pd,
        load = _mm256_loadu_pd, store = _mm256_storeu_pd, add = _mm256_add_pd
    }

    memory! { __m256, [f32]: _mm256_loadu_ps, _mm256_storeu_ps }

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
    fn store_partial(self, s: &mut [f32], v: __m256) {
        let mask = self.mask(s.len());
        // SAFETY: `self` proves AVX2; only the `s.len()` lanes of the mask are written.
        unsafe { _mm256_maskstore_ps(s.as_mut_ptr(), mask, v) }
    }

    #[inline(always)]
    fn load_bf16(self, s: &[bf16]) -> __m256 {
        let s = &s[..N];
        // SAFETY: `self` proves AVX2; `s` holds 16 bytes, and no alignment is needed.
        unsafe {
            let words = _mm256_cvtepu16_epi32(_mm_loadu_si128(s.as_ptr().cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(words))
        }
    }

    #[inline(always)]
    fn store_bf16(self, s: &mut [bf16], v: __m256) {
        let s = &mut s[..N];
        // SAFETY: `self` proves AVX2; `s` holds 16 bytes, and no alignment is needed.
        unsafe {
            let bits = _mm256_castps_si256(v);
            // Half a unit less one bit, and that bit if the last one kept is odd.
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
            let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040_0000));
            let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(v, v));
            let high = _mm256_srli_epi32::<16>(_mm256_blendv_epi8(rounded, quiet, nan));
            // Packed within halves of the vector: the words of each lie twice there.
            let twice = _mm256_packus_epi32(high, high);
            let halves = _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(twice));
            _mm_storeu_si128(s.as_mut_ptr().cast(), halves);
        }
    }

    #[inline(always)]
    fn load_f16(self, s: &[f16]) -> __m256 {
        let s = &s[..N];
        // SAFETY: `self` proves F16C; `s` holds 16 bytes, and no alignment is needed.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(s.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store_f16(self, s: &mut [f16], v: __m256) {
        let s = &mut s[..N];
        // SAFETY: `self` proves F16C; `s` holds 16 bytes, and no alignment is needed.
        unsafe {
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v);
            _mm_storeu_si128(s.as_mut_ptr().cast(), halves);
        }
    }

    instructions! { __m256:
        add(a, b) = _mm256_add_ps;
        sub(a, b) = _mm256_sub_ps;
        mul(a, b) = _mm256_mul_ps;
        div(a, b) = _mm256_div_ps;
        mul_add(a, b, c) = _mm256_fmadd_ps;
        neg_mul_add(a, b, c) = _mm256_fnmadd_ps;
        max(a, b) = _mm256_max_ps;
        min(a, b) = _mm256_min_ps;
    }

    #[inline(always)]
    fn select_gt(self, a: __m256, b: __m256, x: __m256, y: __m256) -> __m256 {
        // SAFETY: `self` proves AVX2 and FMA.
        unsafe { _mm256_blendv_ps(y, x, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) }
    }

    #[inline(always)]
    fn transpose(self, from: &[[f32; 16]; 16], to: &mut [[f32; 16]; 16]) {
        for i in [0, N] {
            for j in [0, N] {
                let mut rows = [self.splat(0.0); N];
                for (row, from) in rows.iter_mut().zip(&from[i..]) {
                    *row = self.load(&from[j..]);
                }
                let columns = self.transposed(rows);
                for (to, column) in to[j..].iter_mut().zip(columns) {
                    self.store(&mut to[i..], column);
                }
            }
        }
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
