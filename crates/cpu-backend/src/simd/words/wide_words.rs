//! Sums of products that are reduced late: 64 bits for each word.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use core::array;

use core_types::field::P;

use super::Words;
use crate::simd::Portable;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};

/// Vectors of 64-bit sums, one for each word of a vector of [`Words`].
///
/// A product of canonical words is at most `(P - 1)^2 = 2^62 - 2^33 + 4`, and a folded sum is below `2^34`, so four
/// products fit on top of a folded sum.
pub(crate) trait WideWords: Words {
    /// Sums.
    type W: Copy;

    /// `WIDTH` sums from `source`, in the order in which they were stored.
    ///
    /// # Safety
    /// They are readable; no alignment is needed.
    unsafe fn load_sums(self, source: *const u64) -> Self::W;
    /// `WIDTH` sums to `target`, in an order of its own.
    ///
    /// # Safety
    /// They are writable; no alignment is needed.
    unsafe fn store_sums(self, target: *mut u64, sums: Self::W);
    /// Adds the products of words with one factor, the same in every lane of `factor`.
    fn add_products(self, sums: Self::W, words: Self::V, factor: Self::V) -> Self::W;
    /// Numbers below `2^34` that are the sums modulo P.
    fn folded(self, sums: Self::W) -> Self::W;
    /// The sums modulo P.
    fn reduced_sums(self, sums: Self::W) -> Self::V;
}

/// `sum` modulo P, below `2^34`.
#[inline(always)]
const fn fold(sum: u64) -> u64 {
    (sum & P as u64) + (sum >> 31)
}

impl WideWords for Portable {
    type W = [u64; 4];

    #[inline(always)]
    unsafe fn load_sums(self, source: *const u64) -> [u64; 4] {
        // SAFETY: the caller vouches for four readable sums.
        unsafe { source.cast::<[u64; 4]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store_sums(self, target: *mut u64, sums: [u64; 4]) {
        // SAFETY: the caller vouches for four writable sums.
        unsafe { target.cast::<[u64; 4]>().write_unaligned(sums) }
    }

    #[inline(always)]
    fn add_products(self, sums: [u64; 4], words: [u32; 4], factor: [u32; 4]) -> [u64; 4] {
        array::from_fn(|i| sums[i].wrapping_add(u64::from(words[i]) * u64::from(factor[i])))
    }

    #[inline(always)]
    fn folded(self, sums: [u64; 4]) -> [u64; 4] {
        sums.map(fold)
    }

    #[inline(always)]
    fn reduced_sums(self, sums: [u64; 4]) -> [u32; 4] {
        sums.map(|sum| {
            let word = fold(fold(sum)) as u32; // at most P + 8
            word.min(word.wrapping_sub(P))
        })
    }
}

/// Sums of the even words, then of the odd words.
#[cfg(target_arch = "x86_64")]
impl WideWords for Avx2 {
    type W = [__m256i; 2];

    #[inline(always)]
    unsafe fn load_sums(self, source: *const u64) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2, the caller vouches for eight readable sums.
        unsafe { [_mm256_loadu_si256(source.cast()), _mm256_loadu_si256(source.add(4).cast())] }
    }

    #[inline(always)]
    unsafe fn store_sums(self, target: *mut u64, [even, odd]: [__m256i; 2]) {
        // SAFETY: `self` proves AVX2, the caller vouches for eight writable sums.
        unsafe {
            _mm256_storeu_si256(target.cast(), even);
            _mm256_storeu_si256(target.add(4).cast(), odd);
        }
    }

    #[inline(always)]
    fn add_products(self, [even, odd]: [__m256i; 2], words: __m256i, factor: __m256i) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe {
            [
                _mm256_add_epi64(even, _mm256_mul_epu32(words, factor)),
                _mm256_add_epi64(odd, _mm256_mul_epu32(_mm256_srli_epi64::<32>(words), factor)),
            ]
        }
    }

    #[inline(always)]
    fn folded(self, [even, odd]: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let p = _mm256_set1_epi64x(i64::from(P));
            [
                _mm256_add_epi64(_mm256_and_si256(even, p), _mm256_srli_epi64::<31>(even)),
                _mm256_add_epi64(_mm256_and_si256(odd, p), _mm256_srli_epi64::<31>(odd)),
            ]
        }
    }

    #[inline(always)]
    fn reduced_sums(self, sums: [__m256i; 2]) -> __m256i {
        let [even, odd] = self.folded(self.folded(sums));
        // SAFETY: `self` proves AVX2.
        unsafe {
            let words = _mm256_or_si256(even, _mm256_slli_epi64::<32>(odd)); // at most P + 8 each
            _mm256_min_epu32(words, _mm256_sub_epi32(words, _mm256_set1_epi32(P as i32)))
        }
    }
}

/// Sums of the even words, then of the odd words.
#[cfg(target_arch = "x86_64")]
impl WideWords for Avx512 {
    type W = [__m512i; 2];

    #[inline(always)]
    unsafe fn load_sums(self, source: *const u64) -> [__m512i; 2] {
        // SAFETY: `self` proves AVX-512, the caller vouches for sixteen readable sums.
        unsafe { [_mm512_loadu_si512(source.cast()), _mm512_loadu_si512(source.add(8).cast())] }
    }

    #[inline(always)]
    unsafe fn store_sums(self, target: *mut u64, [even, odd]: [__m512i; 2]) {
        // SAFETY: `self` proves AVX-512, the caller vouches for sixteen writable sums.
        unsafe {
            _mm512_storeu_si512(target.cast(), even);
            _mm512_storeu_si512(target.add(8).cast(), odd);
        }
    }

    #[inline(always)]
    fn add_products(self, [even, odd]: [__m512i; 2], words: __m512i, factor: __m512i) -> [__m512i; 2] {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            [
                _mm512_add_epi64(even, _mm512_mul_epu32(words, factor)),
                _mm512_add_epi64(odd, _mm512_mul_epu32(_mm512_srli_epi64::<32>(words), factor)),
            ]
        }
    }

    #[inline(always)]
    fn folded(self, [even, odd]: [__m512i; 2]) -> [__m512i; 2] {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let p = _mm512_set1_epi64(i64::from(P));
            [
                _mm512_add_epi64(_mm512_and_si512(even, p), _mm512_srli_epi64::<31>(even)),
                _mm512_add_epi64(_mm512_and_si512(odd, p), _mm512_srli_epi64::<31>(odd)),
            ]
        }
    }

    #[inline(always)]
    fn reduced_sums(self, sums: [__m512i; 2]) -> __m512i {
        let [even, odd] = self.folded(self.folded(sums));
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let words = _mm512_or_si512(even, _mm512_slli_epi64::<32>(odd)); // at most P + 8 each
            _mm512_min_epu32(words, _mm512_sub_epi32(words, _mm512_set1_epi32(P as i32)))
        }
    }
}

#[cfg(test)]
mod tests {
    use core_types::field::M31;

    use super::*;
    use crate::simd::{Kernel, dispatch, levels};

    /// Four products on top of a folded sum, again and again, at the largest words there are.
    struct Sums;

    impl<L: WideWords> Kernel<L> for Sums {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            let mut words = [0u32; 16];
            words.iter_mut().enumerate().for_each(|(i, word)| *word = if i % 3 == 0 { P - 1 } else { 77 * i as u32 });
            let (mut stored, mut expected, mut reduced) = ([0u64; 16], [M31::ZERO; 16], [0u32; 16]);
            for factor in [P - 1, P - 2, 5, 0, P - 1] {
                // SAFETY: no vector has more than sixteen words.
                unsafe {
                    let v = l.load(words.as_ptr());
                    let mut sums = l.folded(l.load_sums(stored.as_ptr()));
                    for _ in 0..4 {
                        sums = l.add_products(sums, v, l.splat(factor));
                    }
                    l.store_sums(stored.as_mut_ptr(), sums);
                    l.store(reduced.as_mut_ptr(), l.reduced_sums(sums));
                }
                for (i, expected) in expected.iter_mut().enumerate().take(L::WIDTH) {
                    *expected += M31::from_u64(4 * u64::from(words[i])) * M31::from_u32(factor);
                    assert_eq!(reduced[i], expected.word(), "{i} {factor}");
                }
            }
        }
    }

    #[test]
    fn sums_of_products_are_those_of_the_field() {
        levels().for_each(|simd| dispatch(simd, Sums));
    }
}
