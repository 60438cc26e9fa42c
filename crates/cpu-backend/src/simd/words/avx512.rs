//! Sixteen words in a ZMM register.

use core::arch::x86_64::*;

use super::{
    NEGATE, WordLanes,
    registers::{Registers, words_in_registers},
};
use crate::simd::{Avx512, instructions, shifts};

/// Picks from two vectors: word `i` of the result is word `table[i]` of their concatenation.
type Table = [i32; 16];

const HIGH_WORDS: Table = [1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31];
const LOW_WORDS: Table = [0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30];
const EVEN_WORDS: Table = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30];
const ODD_WORDS: Table = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31];
const FIRST_ZIPPED: Table = [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23];
const SECOND_ZIPPED: Table = [8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31];
/// The twiddles of layer 1 as layer 0 uses them, from one vector.
///
/// [`CIRCLE_SIGNS`] negates some of them.
const CIRCLE_PATTERN: Table = [1, 1, 0, 0, 3, 3, 2, 2, 5, 5, 4, 4, 7, 7, 6, 6];
const CIRCLE_SIGNS: Table = {
    let n = NEGATE as i32;
    [0, n, n, 0, 0, n, n, 0, 0, n, n, 0, 0, n, n, 0]
};

impl Avx512 {
    /// A table in a register.
    #[inline(always)]
    fn table(self, table: &Table) -> __m512i {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_loadu_si512(table.as_ptr().cast()) }
    }

    /// The words of two vectors that a table picks.
    #[inline(always)]
    fn permuted(self, a: __m512i, table: &Table, b: __m512i) -> __m512i {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_permutex2var_epi32(a, self.table(table), b) }
    }
}

impl WordLanes for Avx512 {
    const LOG: u32 = 4;

    words_in_registers! { __m512i:
        load = _mm512_loadu_si512, store = _mm512_storeu_si512, splat = _mm512_set1_epi32
    }

    // Index bits as (vector; lane 3, 2, 1, 0) are (b4; b3 b2 b1 b0) at first; each unzip rotates them by one:
    // (b0; b4 b3 b2 b1), (b1; b0 b4 b3 b2), (b2; b1 b0 b4 b3), (b3; b2 b1 b0 b4), and the fifth restores them.

    #[inline(always)]
    fn split<const K: u32>(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        (self.permuted(a, &EVEN_WORDS, b), self.permuted(a, &ODD_WORDS, b))
    }

    #[inline(always)]
    fn merge<const K: u32>(self, a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        (self.permuted(a, &FIRST_ZIPPED, b), self.permuted(a, &SECOND_ZIPPED, b))
    }

    #[inline(always)]
    unsafe fn circle_twiddles(self, layer_1: *const u32) -> __m512i {
        // SAFETY: `self` proves AVX-512, the caller vouches for eight readable words; the pattern uses those alone.
        unsafe {
            let twiddles = _mm512_castsi256_si512(_mm256_loadu_si256(layer_1.cast()));
            let picked = _mm512_permutexvar_epi32(self.table(&CIRCLE_PATTERN), twiddles);
            _mm512_xor_si512(picked, self.table(&CIRCLE_SIGNS))
        }
    }

    #[inline(always)]
    unsafe fn line_twiddles<const K: u32>(self, layer: *const u32) -> __m512i {
        // SAFETY: `self` proves AVX-512, the caller vouches for eight (K = 1), four (K = 2) or two (K = 3) readable words.
        unsafe {
            match K {
                1 => _mm512_broadcast_i64x4(_mm256_loadu_si256(layer.cast())),
                2 => _mm512_broadcast_i32x4(_mm_loadu_si128(layer.cast())),
                _ => _mm512_broadcastq_epi64(_mm_loadl_epi64(layer.cast())),
            }
        }
    }
}

impl Registers for Avx512 {
    instructions! { __m512i:
        and(a, b) = _mm512_and_si512;
        or(a, b) = _mm512_or_si512;
        add_32(a, b) = _mm512_add_epi32;
        sub_32(a, b) = _mm512_sub_epi32;
        min_32(a, b) = _mm512_min_epu32;
        doubled_32(a) = _mm512_slli_epi32::<1>;
        halved_32(a) = _mm512_srli_epi32::<1>;
        add_64(a, b) = _mm512_add_epi64;
        sub_64(a, b) = _mm512_sub_epi64;
        doubled_64(a) = _mm512_slli_epi64::<1>;
        raised(a) = _mm512_slli_epi64::<32>;
        over_p(a) = _mm512_srli_epi64::<31>;
        lowered(a) = _mm512_srli_epi64::<32>;
        mul_even(a, b) = _mm512_mul_epu32;
    }

    shifts! { __m512i:
        shl_32 = _mm512_sll_epi32;
        shr_32 = _mm512_srl_epi32;
    }

    #[inline(always)]
    fn splat_64(self, number: u64) -> __m512i {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_set1_epi64(number as i64) }
    }

    #[inline(always)]
    fn alternate(self, even: __m512i, odd: __m512i) -> __m512i {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_mask_blend_epi32(0xaaaa, even, odd) }
    }

    #[inline(always)]
    fn low_words(self, even: __m512i, odd: __m512i) -> __m512i {
        self.permuted(even, &LOW_WORDS, odd)
    }

    #[inline(always)]
    fn high_words(self, even: __m512i, odd: __m512i) -> __m512i {
        self.permuted(even, &HIGH_WORDS, odd)
    }
}

/// The same steps on arrays with the same tables.
///
/// Tests reach them on every processor.
#[cfg(test)]
pub(super) mod model {
    use core::array;

    use core_types::field::{M31, Twiddle};

    use super::*;
    use crate::simd::{tokens::plain_token, words::WordVectors};

    /// Sixteen words in an array.
    #[derive(Clone, Copy)]
    pub(crate) struct ArrayWords;

    type Array = [u32; 16];

    fn pick(a: Array, table: &Table, b: Array) -> Array {
        array::from_fn(|i| if table[i] < 16 { a[table[i] as usize] } else { b[table[i] as usize - 16] })
    }

    fn m31(word: u32) -> M31 {
        M31::from_canonical(word).expect("lanes are canonical")
    }

    plain_token!(ArrayWords);

    impl WordLanes for ArrayWords {
        const LOG: u32 = 4;
        type V = Array;

        unsafe fn load(self, source: *const u32) -> Array {
            // SAFETY: the caller vouches for sixteen readable words.
            unsafe { source.cast::<Array>().read_unaligned() }
        }

        unsafe fn store(self, target: *mut u32, v: Array) {
            // SAFETY: the caller vouches for sixteen writable words.
            unsafe { target.cast::<Array>().write_unaligned(v) }
        }

        fn splat(self, word: u32) -> Array {
            [word; 16]
        }

        fn split<const K: u32>(self, a: Array, b: Array) -> (Array, Array) {
            (pick(a, &EVEN_WORDS, b), pick(a, &ODD_WORDS, b))
        }

        fn merge<const K: u32>(self, a: Array, b: Array) -> (Array, Array) {
            (pick(a, &FIRST_ZIPPED, b), pick(a, &SECOND_ZIPPED, b))
        }

        unsafe fn circle_twiddles(self, layer_1: *const u32) -> Array {
            // SAFETY: the caller vouches for eight readable words.
            let twiddles = unsafe { layer_1.cast::<[u32; 8]>().read_unaligned() };
            array::from_fn(|i| twiddles[CIRCLE_PATTERN[i] as usize] ^ CIRCLE_SIGNS[i] as u32)
        }

        unsafe fn line_twiddles<const K: u32>(self, layer: *const u32) -> Array {
            // SAFETY: the caller vouches for 16 >> K readable words.
            array::from_fn(|i| unsafe { *layer.add(i % (16 >> K)) })
        }
    }

    impl WordVectors for ArrayWords {
        fn add(self, a: Array, b: Array) -> Array {
            array::from_fn(|i| (m31(a[i]) + m31(b[i])).word())
        }

        fn sub(self, a: Array, b: Array) -> Array {
            array::from_fn(|i| (m31(a[i]) - m31(b[i])).word())
        }

        fn doubled(self, a: Array) -> Array {
            a.map(|word| 2 * word)
        }

        fn mul(self, a: Array, doubled: Array) -> Array {
            let twiddle = |i: usize| Twiddle::new(m31(doubled[i] / 2));
            // Products of even and odd lanes, merged by the tables into high and low words.
            let wide = |i: usize| u64::from(a[i]) * u64::from(twiddle(i).word());
            let words = |odd: usize| array::from_fn(|i| (wide(i / 2 * 2 + odd) >> (i % 2 * 32)) as u32);
            let (high, low) = (pick(words(0), &HIGH_WORDS, words(1)), pick(words(0), &LOW_WORDS, words(1)));
            array::from_fn(|i| M31::from_u32(high[i] + (low[i] >> 1)).word())
        }

        fn mul_splat(self, a: Array, doubled: Array) -> Array {
            self.mul(a, doubled)
        }

        fn rotate(self, a: Array, k: u32) -> Array {
            a.map(|word| m31(word).times_power_of_two(k).word())
        }
    }
}
