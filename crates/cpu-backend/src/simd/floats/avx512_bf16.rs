//! Pairs of bf16 in a ZMM register, whose products VDPBF16PS adds up.
//!
//! It rounds each sum to nearest even and takes subnormal numbers, factors and sums alike, for
//! zeros.

use core::{arch::x86_64::*, mem::transmute};

use half::bf16;

use super::{Floats, Pairs, TermPair, Terms};
use crate::simd::{Avx512, Avx512Bf16};

const N: usize = 16;

impl Terms<TermPair> for Avx512Bf16 {
    type Floats = Avx512;
    type Slots = __m512i;

    #[inline(always)]
    fn floats(self) -> Avx512 {
        self.avx512()
    }

    #[inline(always)]
    fn slots(self, s: &[TermPair]) -> __m512i {
        let s = &s[..N];
        // SAFETY: `self` proves AVX-512; `s` holds 64 bytes, and no alignment is needed.
        unsafe { _mm512_loadu_si512(s.as_ptr().cast()) }
    }

    #[inline(always)]
    fn slot(self, s: TermPair) -> __m512i {
        // SAFETY: `self` proves AVX-512; a pair is two numbers of 16 bits without padding, and any bits are an i32.
        unsafe { _mm512_set1_epi32(transmute::<TermPair, i32>(s)) }
    }

    #[inline(always)]
    fn multiply_add(self, a: __m512i, b: __m512i, sum: __m512) -> __m512 {
        // SAFETY: `self` proves AVX-512 BF16; both vectors are 64 bytes, and any bytes are valid numbers.
        unsafe { _mm512_dpbf16_ps(sum, transmute::<__m512i, __m512bh>(a), transmute::<__m512i, __m512bh>(b)) }
    }
}

impl Pairs for Avx512Bf16 {
    #[inline(always)]
    fn join(self, first: &[bf16; 16], second: &[bf16; 16], to: &mut [TermPair; 16]) {
        // SAFETY: `self` proves AVX-512; each row holds 32 bytes and `to` 64, and no alignment is needed.
        unsafe {
            let low = _mm512_cvtepu16_epi32(_mm256_loadu_si256(first.as_ptr().cast()));
            let high = _mm512_cvtepu16_epi32(_mm256_loadu_si256(second.as_ptr().cast()));
            _mm512_storeu_si512(to.as_mut_ptr().cast(), _mm512_or_si512(low, _mm512_slli_epi32::<16>(high)));
        }
    }

    #[inline(always)]
    fn transpose_pairs(self, rows: &[&[bf16]; 16], to: &mut [[TermPair; 16]; 16]) {
        let l = self.avx512();
        let mut vectors = [l.splat(0.0); N];
        for (vector, row) in vectors.iter_mut().zip(rows) {
            let row = &row[..2 * N];
            // SAFETY: `self` proves AVX-512; `row` holds 64 bytes, and no alignment is needed.
            *vector = unsafe { _mm512_loadu_ps(row.as_ptr().cast()) };
        }
        let columns = l.transposed(vectors);
        for (to, column) in to.iter_mut().zip(columns) {
            // SAFETY: `self` proves AVX-512; `to` holds 64 bytes of pairs, which any bits are.
            unsafe { _mm512_storeu_ps(to.as_mut_ptr().cast(), column) }
        }
    }
}
