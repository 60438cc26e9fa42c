//! # Safety
//! The functions of this file require a processor with AVX-512 F, BW, DQ and VL; pointers must be valid for the words that are named.

use core::arch::x86_64::*;

use core_types::field::P;

use super::{Lanes, NEGATE};

/// Picks from two vectors: word `i` of the result is word `table[i]` of their concatenation.
type Table = [i32; 16];

const HIGH_WORDS: Table = [1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31];
const LOW_WORDS: Table = [0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30];
const EVEN_WORDS: Table = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
const ODD_WORDS: Table = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
const FIRST_ZIPPED: Table = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
const SECOND_ZIPPED: Table = [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31];
/// Of one vector: the factors of layer 1 as layer 0 uses them, where [`CIRCLE_SIGNS`] negates some.
const CIRCLE_PATTERN: Table = [1, 1, 0, 0, 3, 3, 2, 2, 5, 5, 4, 4, 7, 7, 6, 6];
const CIRCLE_SIGNS: Table = {
    let n = NEGATE as i32;
    [0, n, n, 0, 0, n, n, 0, 0, n, n, 0, 0, n, n, 0]
};

#[inline(always)]
unsafe fn table(table: &Table) -> __m512i {
    // SAFETY: the caller vouches for AVX-512 F.
    unsafe { _mm512_loadu_si512(table.as_ptr().cast()) }
}

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
        let high = _mm512_permutex2var_epi32(even, table(&HIGH_WORDS), odd);
        let low = _mm512_permutex2var_epi32(even, table(&LOW_WORDS), odd);
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
            (
                Self(_mm512_permutex2var_epi32(a.0, table(&EVEN_WORDS), b.0)),
                Self(_mm512_permutex2var_epi32(a.0, table(&ODD_WORDS), b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn merge<const K: u32>(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the caller vouches for AVX-512 F.
        unsafe {
            (
                Self(_mm512_permutex2var_epi32(a.0, table(&FIRST_ZIPPED), b.0)),
                Self(_mm512_permutex2var_epi32(a.0, table(&SECOND_ZIPPED), b.0)),
            )
        }
    }

    #[inline(always)]
    unsafe fn circle_twiddles(layer_1: *const u32) -> Self {
        // SAFETY: the caller vouches for AVX-512 F and eight readable words; the pattern uses those alone.
        unsafe {
            let factors = _mm512_castsi256_si512(_mm256_loadu_si256(layer_1.cast()));
            let picked = _mm512_permutexvar_epi32(table(&CIRCLE_PATTERN), factors);
            Self(_mm512_xor_si512(picked, table(&CIRCLE_SIGNS)))
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

/// The same steps on arrays with the same tables, so that tests reach them on every processor.
#[cfg(test)]
pub(in crate::circle) mod model {
    use core::array;

    use core_types::field::{M31, Twiddle};

    use super::*;

    #[derive(Clone, Copy)]
    pub(crate) struct Model([u32; 16]);

    fn pick(a: [u32; 16], table: &Table, b: [u32; 16]) -> [u32; 16] {
        array::from_fn(|i| if table[i] < 16 { a[table[i] as usize] } else { b[table[i] as usize - 16] })
    }

    fn m31(word: u32) -> M31 {
        M31::from_canonical(word).expect("lanes are canonical")
    }

    impl Lanes for Model {
        const LOG: u32 = 4;

        unsafe fn load(source: *const u32) -> Self {
            // SAFETY: the caller vouches for sixteen readable words.
            Self(unsafe { source.cast::<[u32; 16]>().read_unaligned() })
        }

        unsafe fn store(self, target: *mut u32) {
            // SAFETY: the caller vouches for sixteen writable words.
            unsafe { target.cast::<[u32; 16]>().write_unaligned(self.0) }
        }

        unsafe fn splat(word: u32) -> Self {
            Self([word; 16])
        }

        unsafe fn add(self, rhs: Self) -> Self {
            Self(array::from_fn(|i| (m31(self.0[i]) + m31(rhs.0[i])).word()))
        }

        unsafe fn sub(self, rhs: Self) -> Self {
            Self(array::from_fn(|i| (m31(self.0[i]) - m31(rhs.0[i])).word()))
        }

        unsafe fn mul(self, doubled: Self) -> Self {
            let twiddle = |i: usize| Twiddle::new(m31(doubled.0[i] / 2));
            // Products of even and odd lanes, merged by the tables into high and low words.
            let wide = |i: usize| u64::from(self.0[i]) * u64::from(twiddle(i).word());
            let words = |odd: usize| array::from_fn(|i| (wide(i / 2 * 2 + odd) >> (i % 2 * 32)) as u32);
            let (high, low) = (pick(words(0), &HIGH_WORDS, words(1)), pick(words(0), &LOW_WORDS, words(1)));
            Self(array::from_fn(|i| M31::from_u32(high[i] + (low[i] >> 1)).word()))
        }

        unsafe fn mul_splat(self, doubled: Self) -> Self {
            // SAFETY: no requirement on plain arrays.
            unsafe { self.mul(doubled) }
        }

        unsafe fn rotate(self, k: u32) -> Self {
            Self(self.0.map(|word| m31(word).times_power_of_two(k).word()))
        }

        unsafe fn split<const K: u32>(a: Self, b: Self) -> (Self, Self) {
            (Self(pick(a.0, &EVEN_WORDS, b.0)), Self(pick(a.0, &ODD_WORDS, b.0)))
        }

        unsafe fn merge<const K: u32>(a: Self, b: Self) -> (Self, Self) {
            (Self(pick(a.0, &FIRST_ZIPPED, b.0)), Self(pick(a.0, &SECOND_ZIPPED, b.0)))
        }

        unsafe fn circle_twiddles(layer_1: *const u32) -> Self {
            // SAFETY: the caller vouches for eight readable words.
            let factors = unsafe { layer_1.cast::<[u32; 8]>().read_unaligned() };
            Self(array::from_fn(|i| factors[CIRCLE_PATTERN[i] as usize] ^ CIRCLE_SIGNS[i] as u32))
        }

        unsafe fn line_twiddles<const K: u32>(layer: *const u32) -> Self {
            // SAFETY: the caller vouches for 16 >> K readable words.
            Self(array::from_fn(|i| unsafe { *layer.add(i % (16 >> K)) }))
        }
    }
}
