use core::arch::x86_64::*;

use core_types::field::P;

use super::{Lanes, NEGATE};

/// Sixteen words in a 512-bit register.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512i);

/// `words < 2 P` modulo P.
#[inline(always)]
unsafe fn reduced(words: __m512i) -> Avx512 {
    // SAFETY: the caller vouches for AVX-512 F.
    unsafe { Avx512(_mm512_min_epu32(words, _mm512_sub_epi32(words, _mm512_set1_epi32(P as i32)))) }
}

/// From 64-bit products `2 x t` of the even and the odd lanes to `x t`: high word plus half the low word.
#[inline(always)]
unsafe fn reduced_products(even: __m512i, odd: __m512i) -> Avx512 {
    // SAFETY: the caller vouches for AVX-512 F.
    unsafe {
        let high = _mm512_setr_epi32(1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
        let low = _mm512_setr_epi32(0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
        let high = _mm512_permutex2var_epi32(even, high, odd);
        let low = _mm512_permutex2var_epi32(even, low, odd);
        reduced(_mm512_add_epi32(high, _mm512_srli_epi32::<1>(low)))
    }
}

impl Lanes for Avx512 {
    const LOG: u32 = 4;

    #[inline(always)]
    unsafe fn load(source: *const u32) -> Self {
        // SAFETY: the caller vouches for AVX-512 F and sixteen readable words.
        unsafe { Self(_mm512_loadu_si512(source.cast())) }
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut u32) {
        // SAFETY: the caller vouches for AVX-512 F and sixteen writable words.
        unsafe { _mm512_storeu_si512(target.cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe { Self(_mm512_set1_epi32(word as i32)) }
    }

    #[inline(always)]
    unsafe fn add(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe { reduced(_mm512_add_epi32(self.0, rhs.0)) }
    }

    #[inline(always)]
    unsafe fn sub(self, rhs: Self) -> Self {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe {
            let difference = _mm512_sub_epi32(self.0, rhs.0);
            Self(_mm512_min_epu32(difference, _mm512_add_epi32(difference, _mm512_set1_epi32(P as i32))))
        }
    }

    #[inline(always)]
    unsafe fn mul(self, doubled: Self) -> Self {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe {
            let even = _mm512_mul_epu32(self.0, doubled.0);
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(self.0), _mm512_srli_epi64::<32>(doubled.0));
            reduced_products(even, odd)
        }
    }

    #[inline(always)]
    unsafe fn mul_splat(self, doubled: Self) -> Self {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe {
            let even = _mm512_mul_epu32(self.0, doubled.0);
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(self.0), doubled.0);
            reduced_products(even, odd)
        }
    }

    #[inline(always)]
    unsafe fn rotate(self, k: u32) -> Self {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe {
            let left = _mm512_sll_epi32(self.0, _mm_cvtsi32_si128(k as i32));
            let right = _mm512_srl_epi32(self.0, _mm_cvtsi32_si128(31 - k as i32));
            Self(_mm512_or_si512(_mm512_and_si512(left, _mm512_set1_epi32(P as i32)), right))
        }
    }

    // Index bits as (vector; lane 3, 2, 1, 0) are (b4; b3 b2 b1 b0) at first; each unzip rotates them by one:
    // (b0; b4 b3 b2 b1), (b1; b0 b4 b3 b2), (b2; b1 b0 b4 b3), (b3; b2 b1 b0 b4), and the fifth restores them.

    #[inline(always)]
    unsafe fn split<const K: u32>(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            (Self(_mm512_permutex2var_epi32(a.0, even, b.0)), Self(_mm512_permutex2var_epi32(a.0, odd, b.0)))
        }
    }

    #[inline(always)]
    unsafe fn merge<const K: u32>(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe {
            let first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            (Self(_mm512_permutex2var_epi32(a.0, first, b.0)), Self(_mm512_permutex2var_epi32(a.0, second, b.0)))
        }
    }

    #[inline(always)]
    unsafe fn circle_twiddles(layer_1: *const u32) -> Self {
        // SAFETY: the caller vouches for AVX-512 F and eight readable words; the pattern uses those alone.
        unsafe {
            let factors = _mm512_castsi256_si512(_mm256_loadu_si256(layer_1.cast()));
            let pattern = _mm512_setr_epi32(1, 1, 0, 0, 3, 3, 2, 2, 5, 5, 4, 4, 7, 7, 6, 6);
            let n = NEGATE as i32;
            let signs = _mm512_setr_epi32(0, n, n, 0, 0, n, n, 0, 0, n, n, 0, 0, n, n, 0);
            Self(_mm512_xor_si512(_mm512_permutexvar_epi32(pattern, factors), signs))
        }
    }

    #[inline(always)]
    unsafe fn line_twiddles<const K: u32>(layer: *const u32) -> Self {
        // SAFETY: the caller vouches for AVX-512 F and for eight (K = 1), four (K = 2) or two (K = 3) readable words.
        unsafe {
            match K {
                1 => Self(_mm512_broadcast_i64x4(_mm256_loadu_si256(layer.cast()))),
                2 => Self(_mm512_broadcast_i32x4(_mm_loadu_si128(layer.cast()))),
                _ => Self(_mm512_broadcastq_epi64(_mm_loadl_epi64(layer.cast()))),
            }
        }
    }
}
