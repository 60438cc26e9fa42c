//! Vectors of f32.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

/// Operations on one vector of f32. A value of the implementing token proves that the processor has the instructions.
pub(crate) trait Floats: Copy {
    /// Floats in a vector.
    const N: usize;
    /// A vector of `N` lanes.
    type V: Copy;

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

    /// Prefetches the cache line where element `at` of `s` is, or would be: nothing is accessed.
    fn prefetch(self, s: &[f32], at: usize);

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
    /// `v` with the lowest 9 bits of the pattern of `t` added to sign and exponent: `v 2^k` for `t = 1.5 2^23 + k`, as
    /// long as `v` and the result are normal.
    fn shift_exponent(self, v: Self::V, t: Self::V) -> Self::V;
    /// `x` where `a > b`, else `y`; so `y` where `a` or `b` is NaN.
    fn select_gt(self, a: Self::V, b: Self::V, x: Self::V, y: Self::V) -> Self::V;

    /// The sum of the lanes, halves first: lane i is added to lane i + N/2.
    fn sum(self, v: Self::V) -> f32;
    /// The greatest lane; lanes hold no NaN.
    fn greatest(self, v: Self::V) -> f32;
}

#[cfg(test)]
mod tests {
    use super::Floats;
    use crate::simd::{Kernel, dispatch, levels};

    struct Laws;

    impl<L: Floats> Kernel<L> for Laws {
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
            let shift = l.splat(12_582_912.0 - 3.0);
            assert_eq!(get(l.shift_exponent(v, shift))[3], 0.5);
        }
    }

    #[test]
    fn lane_operations_mean_the_same_on_every_level() {
        for simd in levels() {
            dispatch(simd, Laws);
        }
    }
}
