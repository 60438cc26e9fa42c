//! Sums of products of words that are reduced once, at their end.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;
use core::array;

use core_types::field::{M31, P};

use super::WordVectors;
use crate::simd::Portable;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};

/// Sums of products in every lane.
///
/// Four products fit 64 bits. What they come to is added twice: to a sum modulo 2^64, and its high
/// word to a sum of high words. The sum of low words is the difference of both, and 2^32 is 2 in
/// the field.
pub(crate) trait ProductSums: WordVectors {
    /// One sum for each lane.
    type Sum: Copy;

    /// No products.
    fn no_products(self) -> Self::Sum;
    /// Adds four products: each vector of words by one of factors, the same in every lane.
    fn add_products(self, sum: Self::Sum, words: [Self::V; 4], factors: [Self::V; 4]) -> Self::Sum;
    /// The field elements that sums of at most 2^20 times four products are.
    fn total(self, sum: Self::Sum) -> Self::V;
}

impl ProductSums for Portable {
    type Sum = [[u64; 4]; 2];

    #[inline(always)]
    fn no_products(self) -> Self::Sum {
        [[0; 4]; 2]
    }

    #[inline(always)]
    fn add_products(self, [wrapped, high]: Self::Sum, words: [Self::V; 4], factors: [Self::V; 4]) -> Self::Sum {
        let mut products = [0; 4];
        for (words, factors) in words.iter().zip(&factors) {
            for (product, (&word, &factor)) in products.iter_mut().zip(words.iter().zip(factors)) {
                *product += u64::from(word) * u64::from(factor);
            }
        }
        [array::from_fn(|i| wrapped[i].wrapping_add(products[i])), array::from_fn(|i| high[i] + (products[i] >> 32))]
    }

    #[inline(always)]
    fn total(self, [wrapped, high]: Self::Sum) -> Self::V {
        array::from_fn(|i| M31::from_u64(wrapped[i].wrapping_sub(high[i] << 32) + 2 * high[i]).word())
    }
}

/// Sums of the even and of the odd lanes.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Halves<V> {
    wrapped: [V; 2],
    high: [V; 2],
}

#[cfg(target_arch = "x86_64")]
impl ProductSums for Avx2 {
    type Sum = Halves<__m256i>;

    #[inline(always)]
    fn no_products(self) -> Self::Sum {
        Halves { wrapped: [self.splat(0); 2], high: [self.splat(0); 2] }
    }

    #[inline(always)]
    fn add_products(self, mut sum: Self::Sum, words: [__m256i; 4], factors: [__m256i; 4]) -> Self::Sum {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let mut even = _mm256_mul_epu32(words[0], factors[0]);
            let mut odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(words[0]), factors[0]);
            let mut i = 1;
            while i < 4 {
                even = _mm256_add_epi64(even, _mm256_mul_epu32(words[i], factors[i]));
                odd = _mm256_add_epi64(odd, _mm256_mul_epu32(_mm256_srli_epi64::<32>(words[i]), factors[i]));
                i += 1;
            }
            sum.wrapped = [_mm256_add_epi64(sum.wrapped[0], even), _mm256_add_epi64(sum.wrapped[1], odd)];
            sum.high[0] = _mm256_add_epi64(sum.high[0], _mm256_srli_epi64::<32>(even));
            sum.high[1] = _mm256_add_epi64(sum.high[1], _mm256_srli_epi64::<32>(odd));
            sum
        }
    }

    #[inline(always)]
    fn total(self, Halves { wrapped, high }: Self::Sum) -> __m256i {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let mut below_twice = wrapped;
            let mut half = 0;
            while half < 2 {
                let low = _mm256_sub_epi64(wrapped[half], _mm256_slli_epi64::<32>(high[half]));
                let sum = _mm256_add_epi64(low, _mm256_slli_epi64::<1>(high[half]));
                let remainder = _mm256_and_si256(sum, _mm256_set1_epi64x(P.into()));
                below_twice[half] = _mm256_add_epi64(remainder, _mm256_srli_epi64::<31>(sum));
                half += 1;
            }
            let words = _mm256_or_si256(below_twice[0], _mm256_slli_epi64::<32>(below_twice[1]));
            self.add(words, self.splat(0))
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl ProductSums for Avx512 {
    type Sum = Halves<__m512i>;

    #[inline(always)]
    fn no_products(self) -> Self::Sum {
        Halves { wrapped: [self.splat(0); 2], high: [self.splat(0); 2] }
    }

    #[inline(always)]
    fn add_products(self, mut sum: Self::Sum, words: [__m512i; 4], factors: [__m512i; 4]) -> Self::Sum {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let mut even = _mm512_mul_epu32(words[0], factors[0]);
            let mut odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(words[0]), factors[0]);
            let mut i = 1;
            while i < 4 {
                even = _mm512_add_epi64(even, _mm512_mul_epu32(words[i], factors[i]));
                odd = _mm512_add_epi64(odd, _mm512_mul_epu32(_mm512_srli_epi64::<32>(words[i]), factors[i]));
                i += 1;
            }
            sum.wrapped = [_mm512_add_epi64(sum.wrapped[0], even), _mm512_add_epi64(sum.wrapped[1], odd)];
            sum.high[0] = _mm512_add_epi64(sum.high[0], _mm512_srli_epi64::<32>(even));
            sum.high[1] = _mm512_add_epi64(sum.high[1], _mm512_srli_epi64::<32>(odd));
            sum
        }
    }

    #[inline(always)]
    fn total(self, Halves { wrapped, high }: Self::Sum) -> __m512i {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let mut below_twice = wrapped;
            let mut half = 0;
            while half < 2 {
                let low = _mm512_sub_epi64(wrapped[half], _mm512_slli_epi64::<32>(high[half]));
                let sum = _mm512_add_epi64(low, _mm512_slli_epi64::<1>(high[half]));
                let remainder = _mm512_and_si512(sum, _mm512_set1_epi64(P.into()));
                below_twice[half] = _mm512_add_epi64(remainder, _mm512_srli_epi64::<31>(sum));
                half += 1;
            }
            let words = _mm512_or_si512(below_twice[0], _mm512_slli_epi64::<32>(below_twice[1]));
            self.add(words, self.splat(0))
        }
    }
}

#[cfg(test)]
mod tests {
    use core_types::field::{M31, P};

    use super::ProductSums;
    use crate::simd::{LaneKernel, dispatch, levels};

    /// Compares sums of `quads` times four products with the field's own.
    struct Law {
        quads: u64,
        greatest: bool,
    }

    impl<L: ProductSums> LaneKernel<L> for Law {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            let mut rng = fastrand::Rng::with_seed(1);
            let mut word = || if self.greatest { P - 1 } else { rng.u32(..P) };
            let mut sum = l.no_products();
            let mut expected = [M31::ZERO; 16];
            for _ in 0..self.quads {
                let factors: [u32; 4] = core::array::from_fn(|_| word());
                let mut words = [l.splat(0); 4];
                for (vector, &factor) in words.iter_mut().zip(&factors) {
                    let lanes: [u32; 16] = core::array::from_fn(|_| word());
                    for (expected, &lane) in expected.iter_mut().zip(&lanes) {
                        *expected += M31::from_u32(lane) * M31::from_u32(factor);
                    }
                    // SAFETY: no vector has more than sixteen words.
                    *vector = unsafe { l.load(lanes.as_ptr()) };
                }
                sum = l.add_products(sum, words, factors.map(|factor| l.splat(factor)));
            }
            let mut total = [0; 16];
            // SAFETY: as above.
            unsafe { l.store(total.as_mut_ptr(), l.total(sum)) };
            assert_eq!(expected.map(M31::word)[..L::WIDTH], total[..L::WIDTH]);
        }
    }

    #[test]
    fn totals_are_sums_of_field_products() {
        for simd in levels() {
            for quads in [0, 1, 2, 3, 64, 1 << 12] {
                dispatch(simd, Law { quads, greatest: false });
                dispatch(simd, Law { quads, greatest: true });
            }
        }
    }
}
