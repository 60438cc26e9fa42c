//! Sums of products of words that are reduced once, at their end.

use core::array;

use core_types::field::M31;
#[cfg(target_arch = "x86_64")]
use core_types::field::P;

#[cfg(target_arch = "x86_64")]
use super::Registers;
use super::WordVectors;
use crate::simd::Portable;

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
impl<L: Registers> ProductSums for L {
    type Sum = Halves<L::V>;

    #[inline(always)]
    fn no_products(self) -> Self::Sum {
        Halves { wrapped: [self.splat(0); 2], high: [self.splat(0); 2] }
    }

    #[inline(always)]
    fn add_products(self, mut sum: Self::Sum, words: [L::V; 4], factors: [L::V; 4]) -> Self::Sum {
        let mut even = self.mul_even(words[0], factors[0]);
        let mut odd = self.mul_even(self.lowered(words[0]), factors[0]);
        let mut i = 1;
        while i < 4 {
            even = self.add_64(even, self.mul_even(words[i], factors[i]));
            odd = self.add_64(odd, self.mul_even(self.lowered(words[i]), factors[i]));
            i += 1;
        }
        sum.wrapped = [self.add_64(sum.wrapped[0], even), self.add_64(sum.wrapped[1], odd)];
        sum.high[0] = self.add_64(sum.high[0], self.lowered(even));
        sum.high[1] = self.add_64(sum.high[1], self.lowered(odd));
        sum
    }

    #[inline(always)]
    fn total(self, Halves { wrapped, high }: Self::Sum) -> L::V {
        let mut below_twice = wrapped;
        let mut half = 0;
        while half < 2 {
            let low = self.sub_64(wrapped[half], self.raised(high[half]));
            let sum = self.add_64(low, self.doubled_64(high[half]));
            let remainder = self.and(sum, self.splat_64(P.into()));
            below_twice[half] = self.add_64(remainder, self.over_p(sum));
            half += 1;
        }
        let words = self.or(below_twice[0], self.raised(below_twice[1]));
        self.add(words, self.splat(0))
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
