//! Eight lanes in two XMM registers.
//!
//! SSE2 is in the baseline of x86-64, so this is its portable level. Results have the bits of
//! plain Rust, but for the payload of a NaN: products and sums are rounded one after the other.

use core::arch::x86_64::*;

use half::{bf16, f16, slice::HalfFloatSliceExt};

use super::Floats;
use crate::simd::Portable;

const N: usize = 8;

/// The low lanes and the high ones.
type Halves = [__m128; 2];

/// Methods whose operands and result are vectors, each with its intrinsic for one register.
macro_rules! in_halves {
    ($($method:ident($($operand:ident),+) = $intrinsic:path;)+) => { $(
        #[inline(always)]
        fn $method(self, $($operand: Halves),+) -> Halves {
            // SAFETY: SSE2 is in the baseline.
            unsafe { [$intrinsic($($operand[0]),+), $intrinsic($($operand[1]),+)] }
        }
    )+ };
}

/// The bits of `a` at the set bits of `mask`, else the bits of `b`.
#[inline(always)]
fn selected(mask: __m128, a: __m128, b: __m128) -> __m128 {
    // SAFETY: SSE2 is in the baseline.
    unsafe { _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b)) }
}

/// The high words of numbers whose low halves were rounded to nearest even.
#[inline(always)]
fn rounded_to_bf16(v: __m128) -> __m128i {
    // SAFETY: SSE2 is in the baseline.
    unsafe {
        let bits = _mm_castps_si128(v);
        // Half a unit less one bit, and that bit if the last one kept is odd.
        let odd = _mm_and_si128(_mm_srli_epi32::<16>(bits), _mm_set1_epi32(1));
        let rounded = _mm_add_epi32(_mm_add_epi32(bits, _mm_set1_epi32(0x7fff)), odd);
        let quiet = _mm_or_si128(bits, _mm_set1_epi32(0x0040_0000));
        let kept = selected(_mm_cmpunord_ps(v, v), _mm_castsi128_ps(quiet), _mm_castsi128_ps(rounded));
        // The sign fills the high half, so that packing with saturation changes no word.
        _mm_srai_epi32::<16>(_mm_castps_si128(kept))
    }
}

impl Floats for Portable {
    const N: usize = N;
    const REGISTERS: usize = 8;
    type V = Halves;
    type W = [__m128d; 4];

    #[inline(always)]
    fn splat(self, x: f32) -> Halves {
        // SAFETY: SSE2 is in the baseline.
        unsafe { [_mm_set1_ps(x); 2] }
    }

    #[inline(always)]
    fn load(self, s: &[f32]) -> Halves {
        let s = &s[..N];
        // SAFETY: `s` holds 32 bytes, and no alignment is needed.
        unsafe { [_mm_loadu_ps(s.as_ptr()), _mm_loadu_ps(s.as_ptr().add(N / 2))] }
    }

    #[inline(always)]
    fn load_partial(self, s: &[f32], fill: f32) -> Halves {
        let mut lanes = [fill; N];
        lanes[..s.len()].copy_from_slice(s);
        self.load(&lanes)
    }

    #[inline(always)]
    fn store(self, s: &mut [f32], [low, high]: Halves) {
        let s = &mut s[..N];
        // SAFETY: `s` holds 32 bytes, and no alignment is needed.
        unsafe {
            _mm_storeu_ps(s.as_mut_ptr(), low);
            _mm_storeu_ps(s.as_mut_ptr().add(N / 2), high);
        }
    }

    #[inline(always)]
    fn store_partial(self, s: &mut [f32], v: Halves) {
        let mut lanes = [0.0; N];
        self.store(&mut lanes, v);
        s.copy_from_slice(&lanes[..s.len()]);
    }

    #[inline(always)]
    fn load_bf16(self, s: &[bf16]) -> Halves {
        let s = &s[..N];
        // SAFETY: SSE2 is in the baseline; `s` holds 16 bytes, and no alignment is needed.
        unsafe {
            let (words, zero) = (_mm_loadu_si128(s.as_ptr().cast()), _mm_setzero_si128());
            let (low, high) = (_mm_unpacklo_epi16(zero, words), _mm_unpackhi_epi16(zero, words));
            [_mm_castsi128_ps(low), _mm_castsi128_ps(high)]
        }
    }

    #[inline(always)]
    fn store_bf16(self, s: &mut [bf16], [low, high]: Halves) {
        let s = &mut s[..N];
        let words = [rounded_to_bf16(low), rounded_to_bf16(high)];
        // SAFETY: SSE2 is in the baseline; `s` holds 16 bytes, and no alignment is needed.
        unsafe { _mm_storeu_si128(s.as_mut_ptr().cast(), _mm_packs_epi32(words[0], words[1])) }
    }

    /// Not inlined, as [`store_f16`](Self::store_f16): SSE2 converts in many instructions.
    #[inline(never)]
    fn load_f16(self, s: &[f16]) -> Halves {
        let mut lanes = [0.0; N];
        s[..N].convert_to_f32_slice(&mut lanes);
        self.load(&lanes)
    }

    #[inline(never)]
    fn store_f16(self, s: &mut [f16], v: Halves) {
        let mut lanes = [0.0; N];
        self.store(&mut lanes, v);
        s[..N].convert_from_f32_slice(&lanes);
    }

    #[inline(always)]
    fn widened(self, s: &[f32]) -> [__m128d; 4] {
        let [low, high] = self.load(s);
        // SAFETY: SSE2 is in the baseline.
        unsafe {
            let upper = [_mm_movehl_ps(low, low), _mm_movehl_ps(high, high)];
            [_mm_cvtps_pd(low), _mm_cvtps_pd(upper[0]), _mm_cvtps_pd(high), _mm_cvtps_pd(upper[1])]
        }
    }

    #[inline(always)]
    fn load_wide(self, s: &[f64]) -> [__m128d; 4] {
        let s = s[..N].as_ptr();
        // SAFETY: SSE2 is in the baseline; `s` points to 64 bytes, and no alignment is needed.
        unsafe { [_mm_loadu_pd(s), _mm_loadu_pd(s.add(2)), _mm_loadu_pd(s.add(4)), _mm_loadu_pd(s.add(6))] }
    }

    #[inline(always)]
    fn store_wide(self, s: &mut [f64], w: [__m128d; 4]) {
        let s = s[..N].as_mut_ptr();
        // SAFETY: SSE2 is in the baseline; `s` points to 64 bytes, and no alignment is needed.
        unsafe {
            _mm_storeu_pd(s, w[0]);
            _mm_storeu_pd(s.add(2), w[1]);
            _mm_storeu_pd(s.add(4), w[2]);
            _mm_storeu_pd(s.add(6), w[3]);
        }
    }

    #[inline(always)]
    fn add_wide(self, a: [__m128d; 4], b: [__m128d; 4]) -> [__m128d; 4] {
        // SAFETY: SSE2 is in the baseline.
        unsafe { [_mm_add_pd(a[0], b[0]), _mm_add_pd(a[1], b[1]), _mm_add_pd(a[2], b[2]), _mm_add_pd(a[3], b[3])] }
    }

    #[inline(always)]
    fn prefetch(self, _: &[f32], _: usize) {}

    #[inline(always)]
    fn prefetch_l2(self, _: &[f32], _: usize) {}

    in_halves! {
        add(a, b) = _mm_add_ps;
        sub(a, b) = _mm_sub_ps;
        mul(a, b) = _mm_mul_ps;
        div(a, b) = _mm_div_ps;
        max(a, b) = _mm_max_ps;
        min(a, b) = _mm_min_ps;
    }

    #[inline(always)]
    fn mul_add(self, a: Halves, b: Halves, c: Halves) -> Halves {
        self.add(self.mul(a, b), c)
    }

    #[inline(always)]
    fn neg_mul_add(self, a: Halves, b: Halves, c: Halves) -> Halves {
        self.sub(c, self.mul(a, b))
    }

    #[inline(always)]
    fn shift_exponent(self, v: Halves, t: Halves) -> Halves {
        // SAFETY: SSE2 is in the baseline.
        let shifted = |v: __m128, t: __m128| unsafe {
            _mm_castsi128_ps(_mm_add_epi32(_mm_castps_si128(v), _mm_slli_epi32::<23>(_mm_castps_si128(t))))
        };
        [shifted(v[0], t[0]), shifted(v[1], t[1])]
    }

    #[inline(always)]
    fn select_gt(self, a: Halves, b: Halves, x: Halves, y: Halves) -> Halves {
        // SAFETY: SSE2 is in the baseline.
        let masks = unsafe { [_mm_cmpgt_ps(a[0], b[0]), _mm_cmpgt_ps(a[1], b[1])] };
        [selected(masks[0], x[0], y[0]), selected(masks[1], x[1], y[1])]
    }

    #[inline(never)]
    fn transpose(self, from: &[[f32; 16]; 16], to: &mut [[f32; 16]; 16]) {
        for (i, row) in from.iter().enumerate() {
            for (&x, to) in row.iter().zip(&mut *to) {
                to[i] = x;
            }
        }
    }

    #[inline(always)]
    fn sum(self, [low, high]: Halves) -> f32 {
        // SAFETY: SSE2 is in the baseline.
        unsafe {
            let h = _mm_add_ps(low, high);
            let q = _mm_add_ps(h, _mm_movehl_ps(h, h));
            _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps::<0b01>(q, q)))
        }
    }

    #[inline(always)]
    fn greatest(self, [low, high]: Halves) -> f32 {
        // SAFETY: SSE2 is in the baseline.
        unsafe {
            let h = _mm_max_ps(low, high);
            let q = _mm_max_ps(h, _mm_movehl_ps(h, h));
            _mm_cvtss_f32(_mm_max_ss(q, _mm_shuffle_ps::<0b01>(q, q)))
        }
    }
}
