//! Sums of many products of words, reduced now and then instead of after each product.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use core_types::field::{M31, P};

use super::WordVectors;
use crate::simd::Portable;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};

/// Lanes that add up products of canonical words as numbers of 64 bits.
///
/// A sum of nothing, and one that was just [`folded`](Self::folded), have room for four products.
pub(crate) trait Wide: WordVectors {
    /// A sum for each lane.
    type Sums: Copy;

    /// Sums of nothing.
    fn no_sums(self) -> Self::Sums;
    /// Adds the products of `a` with `factor`, which is the same word in every lane.
    fn add_products(self, sums: Self::Sums, a: Self::V, factor: Self::V) -> Self::Sums;
    /// The same modulo P, below 2^34.
    fn folded(self, sums: Self::Sums) -> Self::Sums;
    /// The sums modulo P, as canonical words.
    fn canonical(self, sums: Self::Sums) -> Self::V;
}

// A product is at most (P - 1)^2 = 2^62 - 2^33 + 4: four of them leave more than 2^34 below 2^64. A fold adds a word
// of 31 bits and one of 33; of a folded sum it makes at most P + 7.

impl Wide for Portable {
    type Sums = [u64; 4];

    #[inline(always)]
    fn no_sums(self) -> [u64; 4] {
        [0; 4]
    }

    #[inline(always)]
    fn add_products(self, sums: [u64; 4], a: [u32; 4], factor: [u32; 4]) -> [u64; 4] {
        core::array::from_fn(|i| sums[i].wrapping_add(u64::from(a[i]) * u64::from(factor[i])))
    }

    #[inline(always)]
    fn folded(self, sums: [u64; 4]) -> [u64; 4] {
        sums.map(|sum| (sum & u64::from(P)) + (sum >> 31))
    }

    #[inline(always)]
    fn canonical(self, sums: [u64; 4]) -> [u32; 4] {
        sums.map(|sum| M31::from_u64(sum).word())
    }
}

/// Sums of the even lanes and of the odd ones.
#[cfg(target_arch = "x86_64")]
impl Wide for Avx2 {
    type Sums = [__m256i; 2];

    #[inline(always)]
    fn no_sums(self) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe { [_mm256_setzero_si256(); 2] }
    }

    #[inline(always)]
    fn add_products(self, [even, odd]: [__m256i; 2], a: __m256i, factor: __m256i) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let high = _mm256_srli_epi64::<32>(a);
            [_mm256_add_epi64(even, _mm256_mul_epu32(a, factor)), _mm256_add_epi64(odd, _mm256_mul_epu32(high, factor))]
        }
    }

    #[inline(always)]
    fn folded(self, [even, odd]: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let low = _mm256_set1_epi64x(P.into());
            [
                _mm256_add_epi64(_mm256_and_si256(even, low), _mm256_srli_epi64::<31>(even)),
                _mm256_add_epi64(_mm256_and_si256(odd, low), _mm256_srli_epi64::<31>(odd)),
            ]
        }
    }

    #[inline(always)]
    fn canonical(self, sums: [__m256i; 2]) -> __m256i {
        let [even, odd] = self.folded(self.folded(sums));
        // SAFETY: `self` proves AVX2.
        unsafe {
            let words = _mm256_blend_epi32::<0xaa>(even, _mm256_slli_epi64::<32>(odd));
            _mm256_min_epu32(words, _mm256_sub_epi32(words, _mm256_set1_epi32(P as i32)))
        }
    }
}

/// Sums of the even lanes and of the odd ones.
#[cfg(target_arch = "x86_64")]
impl Wide for Avx512 {
    type Sums = [__m512i; 2];

    #[inline(always)]
    fn no_sums(self) -> [__m512i; 2] {
        // SAFETY: `self` proves AVX-512.
        unsafe { [_mm512_setzero_si512(); 2] }
    }

    #[inline(always)]
    fn add_products(self, [even, odd]: [__m512i; 2], a: __m512i, factor: __m512i) -> [__m512i; 2] {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let high = _mm512_srli_epi64::<32>(a);
            [_mm512_add_epi64(even, _mm512_mul_epu32(a, factor)), _mm512_add_epi64(odd, _mm512_mul_epu32(high, factor))]
        }
    }

    #[inline(always)]
    fn folded(self, [even, odd]: [__m512i; 2]) -> [__m512i; 2] {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let low = _mm512_set1_epi64(P.into());
            [
                _mm512_add_epi64(_mm512_and_si512(even, low), _mm512_srli_epi64::<31>(even)),
                _mm512_add_epi64(_mm512_and_si512(odd, low), _mm512_srli_epi64::<31>(odd)),
            ]
        }
    }

    #[inline(always)]
    fn canonical(self, sums: [__m512i; 2]) -> __m512i {
        let [even, odd] = self.folded(self.folded(sums));
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let words = _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64::<32>(odd));
            _mm512_min_epu32(words, _mm512_sub_epi32(words, _mm512_set1_epi32(P as i32)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{LaneKernel, dispatch, levels, words::Slices};

    /// The sum of `rows` times their factors, a vector at a time, folded after each four.
    struct Sum<'a> {
        rows: &'a [(Vec<M31>, M31)],
        sums: &'a mut [M31],
    }

    impl<L: Wide> LaneKernel<L> for Sum<'_> {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            for at in (0..self.sums.len()).step_by(L::WIDTH) {
                let mut sums = l.no_sums();
                for four in self.rows.chunks(4) {
                    for (row, factor) in four {
                        sums = l.add_products(sums, l.take(&row[at..]), l.splat(factor.word()));
                    }
                    if four.len() == 4 {
                        sums = l.folded(sums);
                    }
                }
                l.put(&mut self.sums[at..], l.canonical(sums));
            }
        }
    }

    #[test]
    fn sums_of_products_are_those_of_the_field() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut word = || if rng.u8(..5) == 0 { -M31::ONE } else { M31::from_u32(rng.u32(..)) };
        for simd in levels() {
            for count in 0..=13 {
                let rows: Vec<(Vec<M31>, M31)> = (0..count)
                    .map(|_| ((0..64).map(|i| if i % 3 == 0 { -M31::ONE } else { word() }).collect(), -M31::ONE))
                    .collect();
                let expected: Vec<M31> =
                    (0..64).map(|i| rows.iter().fold(M31::ZERO, |sum, (row, factor)| sum + row[i] * *factor)).collect();
                let mut sums = vec![M31::ZERO; 64];
                dispatch(simd, Sum { rows: &rows, sums: &mut sums });
                assert_eq!(sums, expected, "{count} products, {simd:?}");
            }
        }
    }
}
