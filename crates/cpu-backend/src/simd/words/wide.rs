//! Sums of many products of words, reduced now and then instead of after each product.

use core_types::field::{M31, P};

use super::WordVectors;
#[cfg(target_arch = "x86_64")]
use super::registers::{Registers, reduced};
use crate::simd::Portable;

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
    /// `WIDTH` sums from `source`, in the order in which they were stored.
    ///
    /// # Safety
    /// They are readable; no alignment is needed.
    unsafe fn load_sums(self, source: *const u64) -> Self::Sums;
    /// `WIDTH` sums to `target`, in an order of their own.
    ///
    /// # Safety
    /// They are writable; no alignment is needed.
    unsafe fn store_sums(self, target: *mut u64, sums: Self::Sums);
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
}

/// Sums of the even lanes and of the odd ones.
#[cfg(target_arch = "x86_64")]
impl<L: Registers> Wide for L {
    type Sums = [L::V; 2];

    #[inline(always)]
    fn no_sums(self) -> [L::V; 2] {
        [self.splat(0); 2]
    }

    #[inline(always)]
    fn add_products(self, [even, odd]: [L::V; 2], a: L::V, factor: L::V) -> [L::V; 2] {
        let high = self.lowered(a);
        [self.add_64(even, self.mul_even(a, factor)), self.add_64(odd, self.mul_even(high, factor))]
    }

    #[inline(always)]
    fn folded(self, [even, odd]: [L::V; 2]) -> [L::V; 2] {
        let low = self.splat_64(P.into());
        [self.add_64(self.and(even, low), self.over_p(even)), self.add_64(self.and(odd, low), self.over_p(odd))]
    }

    #[inline(always)]
    fn canonical(self, sums: [L::V; 2]) -> L::V {
        let [even, odd] = self.folded(self.folded(sums));
        reduced(self, self.alternate(even, self.raised(odd)))
    }

    #[inline(always)]
    unsafe fn load_sums(self, source: *const u64) -> [L::V; 2] {
        let words = source.cast::<u32>();
        // SAFETY: the caller vouches for `WIDTH` readable sums, which are two vectors of words.
        unsafe { [self.load(words), self.load(words.add(L::WIDTH))] }
    }

    #[inline(always)]
    unsafe fn store_sums(self, target: *mut u64, [even, odd]: [L::V; 2]) {
        let words = target.cast::<u32>();
        // SAFETY: the caller vouches for `WIDTH` writable sums, which are two vectors of words.
        unsafe {
            self.store(words, even);
            self.store(words.add(L::WIDTH), odd);
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

    /// Repeatedly adds four products of the largest words to a folded sum.
    struct Stored;

    impl<L: Wide> LaneKernel<L> for Stored {
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
                    l.store(reduced.as_mut_ptr(), l.canonical(sums));
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

    #[test]
    fn stored_sums_go_on_where_they_were() {
        levels().for_each(|simd| dispatch(simd, Stored));
    }
}
