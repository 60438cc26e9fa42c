//! Vectors of f32.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_bf16;
mod half;
#[cfg(any(test, feature = "arrays", not(target_arch = "x86_64")))]
pub(crate) mod portable;
mod portable_pairs;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(all(target_arch = "x86_64", not(feature = "arrays")))]
mod sse2;
mod terms;

use ::half::{bf16, f16};

pub(crate) use self::{
    half::Half,
    terms::{Pairs, TermPair, Terms},
};
use super::Token;

/// Operations on one vector of f32.
///
/// A value of the implementing token proves that the processor has the instructions.
pub(crate) trait Floats: Token {
    /// Floats in a vector.
    const N: usize;
    /// Vectors that the registers hold.
    const REGISTERS: usize;
    /// A vector of `N` lanes.
    type V: Copy;
    /// `N` lanes of f64.
    type W: Copy;

    /// `x` in every lane.
    fn splat(self, x: f32) -> Self::V;
    /// The first `N` elements of `s`.
    fn load(self, s: &[f32]) -> Self::V;
    /// All elements of `s`, which holds fewer than `N`, and `fill` after them.
    fn load_partial(self, s: &[f32], fill: f32) -> Self::V;
    /// Writes the first `N` elements of `s`.
    fn store(self, s: &mut [f32], v: Self::V);
    /// Writes all elements of `s`, which holds fewer than `N`.
    fn store_partial(self, s: &mut [f32], v: Self::V);

    /// The first `N` elements of `s`, exactly.
    fn load_bf16(self, s: &[bf16]) -> Self::V;
    /// Writes the first `N` elements of `s`, rounded to nearest even; NaN becomes a quiet one.
    fn store_bf16(self, s: &mut [bf16], v: Self::V);
    /// The first `N` elements of `s`, exactly.
    fn load_f16(self, s: &[f16]) -> Self::V;
    /// Writes the first `N` elements of `s`, rounded to nearest even; NaN becomes a quiet one.
    fn store_f16(self, s: &mut [f16], v: Self::V);

    /// The first `N` elements of `s`, exactly.
    fn widened(self, s: &[f32]) -> Self::W;
    /// The first `N` elements of `s`.
    fn load_wide(self, s: &[f64]) -> Self::W;
    /// Writes the first `N` elements of `s`.
    fn store_wide(self, s: &mut [f64], w: Self::W);
    /// `a + b`.
    fn add_wide(self, a: Self::W, b: Self::W) -> Self::W;

    /// Prefetches the cache line where element `at` of `s` is, or would be: nothing is accessed.
    fn prefetch(self, s: &[f32], at: usize);
    /// As [`prefetch`](Self::prefetch), but only into the L2 cache.
    ///
    /// The L1 cache has few outstanding misses, which loads need.
    fn prefetch_l2(self, s: &[f32], at: usize);

    /// `a + b`.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a - b`.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a b`.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a / b`.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a b + c`, rounded once except on the portable level.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `c - a b`, rounded once except on the portable level.
    fn neg_mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `a` where `a > b`, else `b`; so `b` where either is NaN.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a` where `a < b`, else `b`; so `b` where either is NaN.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// `v` with the lowest 9 bits of the pattern of `t` added to sign and exponent.
    ///
    /// This is `v 2^k` for `t = 1.5 2^23 + k`, if `v` and the result are normal.
    fn shift_exponent(self, v: Self::V, t: Self::V) -> Self::V;
    /// `x` where `a > b`, else `y`; so `y` where `a` or `b` is NaN.
    fn select_gt(self, a: Self::V, b: Self::V, x: Self::V, y: Self::V) -> Self::V;

    /// Element j of row i becomes element i of row j.
    fn transpose(self, from: &[[f32; 16]; 16], to: &mut [[f32; 16]; 16]);

    /// The sum of the lanes, halves first: lane i is added to lane i + N/2.
    fn sum(self, v: Self::V) -> f32;
    /// The greatest lane; lanes hold no NaN.
    fn greatest(self, v: Self::V) -> f32;
}

#[cfg(test)]
mod tests {
    use ::half::{bf16, f16};

    use super::{Floats, Half, Pairs, TermPair};
    use crate::simd::{LaneKernel, dispatch, dispatch_pairs, levels};

    struct Laws;

    impl<L: Floats> LaneKernel<L> for Laws {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            let data: Vec<f32> = (0..L::N).map(|i| i as f32 + 1.0).collect();
            let get = |v| {
                let mut out = vec![0.0; L::N];
                l.store(&mut out, v);
                out
            };
            let v = l.load(&data);
            assert_eq!(get(v), data);
            let count = L::N as f32;
            assert_eq!(l.sum(v), count * (count + 1.0) / 2.0);
            assert_eq!(l.greatest(v), count);
            for len in 0..L::N {
                let part = get(l.load_partial(&data[..len], 7.0));
                assert_eq!(part[..len], data[..len]);
                assert!(part[len..].iter().all(|&x| x == 7.0));
                let mut out = vec![-1.0; L::N];
                l.store_partial(&mut out[..len], v);
                assert_eq!(out[..len], data[..len]);
                assert!(out[len..].iter().all(|&x| x == -1.0));
            }
            let square: [[f32; 16]; 16] = core::array::from_fn(|i| core::array::from_fn(|j| (16 * i + j) as f32));
            let mut turned = [[0.0; 16]; 16];
            l.transpose(&square, &mut turned);
            assert!((0..256).all(|i| turned[i % 16][i / 16] == i as f32));
            let (two, nan) = (l.splat(2.0), l.splat(f32::NAN));
            assert!(get(l.max(nan, two)).iter().all(|&x| x == 2.0));
            assert!(get(l.max(two, nan)).iter().all(|x| x.is_nan()));
            assert!(get(l.min(nan, two)).iter().all(|&x| x == 2.0));
            assert!(get(l.min(two, nan)).iter().all(|x| x.is_nan()));
            assert_eq!(get(l.add(v, two))[0], 3.0);
            assert_eq!(get(l.sub(v, two))[0], -1.0);
            assert_eq!(get(l.mul(v, two))[1], 4.0);
            assert_eq!(get(l.div(v, two))[0], 0.5);
            assert_eq!(get(l.mul_add(v, two, two))[2], 8.0);
            assert_eq!(get(l.neg_mul_add(v, two, two))[2], -4.0);
            assert_eq!(get(l.select_gt(v, two, v, nan))[2], 3.0);
            assert!(get(l.select_gt(v, two, v, nan))[1].is_nan());
            assert_eq!(get(l.select_gt(nan, two, v, two))[0], 2.0);
            let mut sums = vec![1.0; L::N];
            let total = l.add_wide(l.load_wide(&sums), l.widened(&data));
            l.store_wide(&mut sums, total);
            assert!(sums.iter().zip(&data).all(|(&sum, &x)| sum == 1.0 + f64::from(x)));
            let shift = l.splat(12_582_912.0 - 3.0);
            assert_eq!(get(l.shift_exponent(v, shift))[3], 0.5);
        }
    }

    /// Every 16-bit number there and back, and the hard cases of rounding.
    ///
    /// These are ties, carries into the exponent, and numbers below and beyond the normal ones.
    struct Halves;

    impl<L: Floats> LaneKernel<L> for Halves {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            halves::<L, bf16>(l, bf16::from_bits, bf16::to_bits, bf16::is_nan);
            halves::<L, f16>(l, f16::from_bits, f16::to_bits, f16::is_nan);
        }
    }

    #[inline(always)]
    fn halves<L: Floats, H: Half>(l: L, from: fn(u16) -> H, bits: fn(H) -> u16, is_nan: fn(H) -> bool) {
        let (mut wide, mut back) = ([0.0; 16], [from(0); 16]);
        for first in (0..=u16::MAX).step_by(L::N) {
            let all: [H; 16] = core::array::from_fn(|i| from(first.wrapping_add(i as u16)));
            let v = H::load(l, &all);
            l.store(&mut wide, v);
            H::store(l, &mut back, v);
            for i in 0..L::N {
                let same = wide[i].to_bits() == all[i].to_f32().to_bits() && bits(back[i]) == bits(all[i]);
                assert!(if is_nan(all[i]) { wide[i].is_nan() && is_nan(back[i]) } else { same }, "{:?}", all[i]);
            }
        }
        for (step, offset) in (0..u32::MAX).step_by(L::N * 977).zip((0..L::N as u32).cycle()) {
            let x: [f32; 16] = core::array::from_fn(|i| {
                let around = step.wrapping_add(i as u32 * 977);
                // Half the numbers lie around the middle between two neighbours.
                f32::from_bits(if i % 2 == 0 {
                    around
                } else {
                    (around & !0xffff | 0x8000).wrapping_add(offset).wrapping_sub(8)
                })
            });
            H::store(l, &mut back, l.load(&x));
            for i in 0..L::N {
                let want = H::from_f32(x[i]);
                let same = if x[i].is_nan() { is_nan(back[i]) } else { bits(back[i]) == bits(want) };
                assert!(same, "{:?} of {:x}, not {want:?}", back[i], x[i].to_bits());
            }
        }
    }

    /// Pairs of small integers, whose products are exact.
    struct OfPairs;

    impl<P: Pairs> LaneKernel<P> for OfPairs {
        type Out = ();

        #[inline(always)]
        fn run(self, l: P) {
            let number = |i: usize| bf16::from_f32(i as f32 % 64.0);
            let (first, second) = (core::array::from_fn(number), core::array::from_fn(|i| number(i + 16)));
            let mut pairs = [TermPair::ZERO; 16];
            l.join(&first, &second, &mut pairs);
            assert!((0..16).all(|i| pairs[i] == TermPair::new(first[i], second[i])));
            let data: Vec<bf16> = (0..16 * 33).map(number).collect();
            let rows: [&[bf16]; 16] = core::array::from_fn(|r| &data[33 * r..33 * r + 32]);
            let mut turned = [[TermPair::ZERO; 16]; 16];
            l.transpose_pairs(&rows, &mut turned);
            for (i, row) in turned.iter().enumerate() {
                assert!((0..16).all(|r| row[r] == TermPair::new(rows[r][2 * i], rows[r][2 * i + 1])));
            }
            let f = l.floats();
            let sum = l.multiply_add(l.slot(pairs[3]), l.slots(&turned[0]), f.splat(0.5));
            let mut sums = [0.0; 16];
            f.store(&mut sums, sum);
            let [a, b] = pairs[3].terms();
            for (sum, pair) in sums.iter().zip(turned[0]).take(<P::Floats as Floats>::N) {
                let [c, d] = pair.terms();
                assert_eq!(*sum, 0.5 + a * c + b * d);
            }
        }
    }

    #[test]
    fn pairs_are_joined_turned_and_multiplied() {
        for simd in levels() {
            dispatch_pairs(simd, OfPairs);
        }
    }

    #[test]
    fn sixteen_bit_numbers_are_converted_as_half_does() {
        for simd in levels() {
            dispatch(simd, Halves);
        }
        #[cfg(all(target_arch = "x86_64", not(feature = "arrays")))]
        Halves.run(super::portable::Arrays);
    }

    #[test]
    fn lane_operations_mean_the_same_on_every_level() {
        for simd in levels() {
            dispatch(simd, Laws);
        }
        #[cfg(all(target_arch = "x86_64", not(feature = "arrays")))]
        Laws.run(super::portable::Arrays);
    }
}
