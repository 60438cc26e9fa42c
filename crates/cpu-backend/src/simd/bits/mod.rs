//! Vectors of 32-bit words as numbers modulo 2^32: what hashes are written in.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(crate) mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

use super::Token;

/// Operations on vectors of `2^LOG` words.
///
/// A value of the implementing token proves that the processor has the instructions.
pub(crate) trait Bits: Token {
    /// Log of the number of words.
    const LOG: u32;
    /// Number of words.
    const N: usize = 1 << Self::LOG;
    /// A vector.
    type V: Copy;

    /// `word` in every lane.
    fn splat(self, word: u32) -> Self::V;
    /// The first `N` words of `s`.
    fn load(self, s: &[u32]) -> Self::V;
    /// Prefetches the cache line that holds `source`; any address may be given.
    #[inline(always)]
    fn prefetch(self, _source: *const u32) {}
    /// Writes the first `N` words of `s`.
    fn store(self, s: &mut [u32], v: Self::V);

    /// Sums modulo 2^32.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bitwise exclusive or.
    fn xor(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits move 7 places towards the lowest, around the end.
    fn rotate_7(self, a: Self::V) -> Self::V;
    /// Bits move 8 places towards the lowest, around the end.
    fn rotate_8(self, a: Self::V) -> Self::V;
    /// Bits move 12 places towards the lowest, around the end.
    fn rotate_12(self, a: Self::V) -> Self::V;
    /// Bits move 16 places towards the lowest, around the end.
    fn rotate_16(self, a: Self::V) -> Self::V;

    /// The words of `a` and `b` in turn: the first `N` of them, then the others.
    fn zip(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
    /// The words at even and at odd places of `a` followed by `b`.
    ///
    /// This is the inverse of [`zip`](Self::zip).
    fn unzip(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
}

#[cfg(test)]
mod tests {
    use super::Bits;
    use crate::simd::{LaneKernel, dispatch, levels};

    struct Laws;

    impl<L: Bits> LaneKernel<L> for Laws {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            let mut rng = fastrand::Rng::with_seed(1);
            let [first, second]: [Vec<u32>; 2] = [(); 2].map(|()| (0..L::N).map(|_| rng.u32(..)).collect());
            let get = |v| {
                let mut out = vec![0; L::N + 1];
                l.store(&mut out[1..], v);
                assert_eq!(out[0], 0);
                out.split_off(1)
            };
            let each =
                |f: fn(u32, u32) -> u32| -> Vec<u32> { first.iter().zip(&second).map(|(&a, &b)| f(a, b)).collect() };
            let (a, b) = (l.load(&first), l.load(&second));
            assert_eq!(get(a), first);
            assert_eq!(get(l.splat(first[0])), vec![first[0]; L::N]);
            assert_eq!(get(l.add(a, b)), each(u32::wrapping_add));
            assert_eq!(get(l.xor(a, b)), each(|a, b| a ^ b));
            assert_eq!(get(l.rotate_7(a)), each(|a, _| a.rotate_right(7)));
            assert_eq!(get(l.rotate_8(a)), each(|a, _| a.rotate_right(8)));
            assert_eq!(get(l.rotate_12(a)), each(|a, _| a.rotate_right(12)));
            assert_eq!(get(l.rotate_16(a)), each(|a, _| a.rotate_right(16)));
            let (low, high) = l.zip(a, b);
            let zipped: Vec<u32> = first.iter().zip(&second).flat_map(|(&a, &b)| [a, b]).collect();
            assert_eq!([get(low), get(high)].concat(), zipped);
            let (even, odd) = l.unzip(low, high);
            assert_eq!((get(even), get(odd)), (first, second));
        }
    }

    #[test]
    fn lane_operations_mean_the_same_on_every_level() {
        for simd in levels() {
            dispatch(simd, Laws);
        }
        #[cfg(target_arch = "x86_64")]
        Laws.run(super::portable::Arrays);
    }
}
