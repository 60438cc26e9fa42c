//! Sixteen lanes in a ZMM register.

use core::arch::x86_64::*;

use half::{bf16, f16};

use super::{Floats, registers::floats_in_registers};
use crate::simd::{Avx512, instructions, memory};

const N: usize = 16;

/// Ones in the lowest `len < 16` bits.
#[inline(always)]
fn mask(len: usize) -> __mmask16 {
    debug_assert!(len < N);
    ((1u32 << (len % N)) - 1) as __mmask16
}

impl Avx512 {
    /// Lane j of row i becomes lane i of row j.
    #[inline(always)]
    pub(super) fn transposed(self, rows: [__m512; 16]) -> [__m512; 16] {
        let (mut pairs, mut fours, mut to) = (rows, rows, rows);
        // SAFETY: `self` proves AVX-512.
        unsafe {
            for i in (0..16).step_by(2) {
                pairs[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
                pairs[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
            }
            // Part p of `fours[4 g + c]` has lane 4 p + c of rows 4 g to 4 g + 3.
            for i in (0..16).step_by(4) {
                let (a, b) = (_mm512_castps_pd(pairs[i]), _mm512_castps_pd(pairs[i + 1]));
                let (c, d) = (_mm512_castps_pd(pairs[i + 2]), _mm512_castps_pd(pairs[i + 3]));
                fours[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
                fours[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
                fours[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
                fours[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
            }
            const EVEN: i32 = 0b10_00_10_00;
            const ODD: i32 = 0b11_01_11_01;
            for c in 0..4 {
                let low_even = _mm512_shuffle_f32x4::<EVEN>(fours[c], fours[4 + c]);
                let low_odd = _mm512_shuffle_f32x4::<ODD>(fours[c], fours[4 + c]);
                let high_even = _mm512_shuffle_f32x4::<EVEN>(fours[8 + c], fours[12 + c]);
                let high_odd = _mm512_shuffle_f32x4::<ODD>(fours[8 + c], fours[12 + c]);
                to[c] = _mm512_shuffle_f32x4::<EVEN>(low_even, high_even);
                to[4 + c] = _mm512_shuffle_f32x4::<EVEN>(low_odd, high_odd);
                to[8 + c] = _mm512_shuffle_f32x4::<ODD>(low_even, high_even);
                to[12 + c] = _mm512_shuffle_f32x4::<ODD>(low_odd, high_odd);
            }
        }
        to
    }
}

impl Floats for Avx512 {
    const N: usize = N;
    const REGISTERS: usize = 32;

    floats_in_registers! {
        __m512: splat = _mm512_set1_ps, as_words = _mm512_castps_si512, as_floats = _mm512_castsi512_ps,
        shl_23 = _mm512_slli_epi32::<23>, add_32 = _mm512_add_epi32;
        __m512d: load_half = _mm256_loadu_ps, widen = _mm512_cvtps_pd,
        load = _mm512_loadu_pd, store = _mm512_storeu_pd, add = _mm512_add_pd
    }

    memory! { __m512, [f32]: _mm512_loadu_ps, _mm512_storeu_ps }

    #[inline(always)]
    fn load_partial(self, s: &[f32], fill: f32) -> __m512 {
        // SAFETY: `self` proves AVX-512; `mask(s.len())` has at most `s.len()` bits, so only elements of `s` are read.
        unsafe { _mm512_mask_loadu_ps(_mm512_set1_ps(fill), mask(s.len()), s.as_ptr()) }
    }

    #[inline(always)]
    fn store_partial(self, s: &mut [f32], v: __m512) {
        // SAFETY: `self` proves AVX-512; `mask(s.len())` has at most `s.len()` bits, so only elements of `s` are written.
        unsafe { _mm512_mask_storeu_ps(s.as_mut_ptr(), mask(s.len()), v) }
    }

    #[inline(always)]
    fn load_bf16(self, s: &[bf16]) -> __m512 {
        let s = &s[..N];
        // SAFETY: `self` proves AVX-512; `s` holds 32 bytes, and no alignment is needed.
        unsafe {
            let words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(s.as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(words))
        }
    }

    #[inline(always)]
    fn store_bf16(self, s: &mut [bf16], v: __m512) {
        let s = &mut s[..N];
        // SAFETY: `self` proves AVX-512; `s` holds 32 bytes, and no alignment is needed.
        unsafe {
            let bits = _mm512_castps_si512(v);
            // Half a unit less one bit, and that bit if the last one kept is odd.
            let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
            let rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v);
            let kept = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x0040_0000));
            let halves = _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(kept));
            _mm256_storeu_si256(s.as_mut_ptr().cast(), halves);
        }
    }

    #[inline(always)]
    fn load_f16(self, s: &[f16]) -> __m512 {
        let s = &s[..N];
        // SAFETY: `self` proves AVX-512; `s` holds 32 bytes, and no alignment is needed.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(s.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store_f16(self, s: &mut [f16], v: __m512) {
        let s = &mut s[..N];
        // SAFETY: `self` proves AVX-512; `s` holds 32 bytes, and no alignment is needed.
        unsafe {
            let halves = _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(v);
            _mm256_storeu_si256(s.as_mut_ptr().cast(), halves);
        }
    }

    instructions! { __m512:
        add(a, b) = _mm512_add_ps;
        sub(a, b) = _mm512_sub_ps;
        mul(a, b) = _mm512_mul_ps;
        div(a, b) = _mm512_div_ps;
        mul_add(a, b, c) = _mm512_fmadd_ps;
        neg_mul_add(a, b, c) = _mm512_fnmadd_ps;
        max(a, b) = _mm512_max_ps;
        min(a, b) = _mm512_min_ps;
    }

    #[inline(always)]
    fn select_gt(self, a: __m512, b: __m512, x: __m512, y: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), y, x) }
    }

    #[inline(always)]
    fn transpose(self, from: &[[f32; 16]; 16], to: &mut [[f32; 16]; 16]) {
        let mut rows = [self.splat(0.0); 16];
        for (row, from) in rows.iter_mut().zip(from) {
            *row = self.load(from);
        }
        let columns = self.transposed(rows);
        for (to, column) in to.iter_mut().zip(columns) {
            self.store(to, column);
        }
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
