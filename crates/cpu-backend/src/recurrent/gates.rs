//! Gate functions, from one exponential of a number that is not positive.
//!
//! They are cheaper than the activations: results lie within -1 and 1, and their errors count
//! relative to 1.

use crate::{
    linalg::vmath::{EXP_SCALE, exp_scaled},
    simd::floats::Floats,
};

/// The magnitude; NaN stays.
#[inline(always)]
fn magnitude<L: Floats>(l: L, x: L::V) -> L::V {
    l.max(x, l.sub(l.splat(0.0), x))
}

/// 1 / (1 + exp(-x)), with a relative error below 4e-7 + 4e-9 |x|.
///
/// On the portable level, the bound is 4e-7 + 7e-8 |x|. The result is one of `1 / (1 + e)` and
/// `e / (1 + e)` for `e = exp(-|x|)`.
#[inline(always)]
pub(super) fn sigmoid<L: Floats>(l: L, x: L::V) -> L::V {
    let (zero, one) = (l.splat(0.0), l.splat(EXP_SCALE));
    let e = exp_scaled(l, l.sub(zero, magnitude(l, x)));
    l.div(l.select_gt(x, zero, one, e), l.add(one, e))
}

/// tanh(x), with a relative error below 4e-7.
///
/// Below 0.625, it is the polynomial of Cephes' tanhf. Above, it is `(1 - e) / (1 + e)` for
/// `e = exp(-2 |x|)`, with the sign of x.
#[inline(always)]
pub(super) fn tanh<L: Floats>(l: L, x: L::V) -> L::V {
    let z = l.mul(x, x);
    let mut p = l.splat(-5.704_988_7e-3);
    for c in [2.063_909e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1] {
        p = l.mul_add(p, z, l.splat(c));
    }
    let near = l.mul_add(l.mul(p, z), x, x);
    let (zero, one) = (l.splat(0.0), l.splat(EXP_SCALE));
    let size = magnitude(l, x);
    let e = exp_scaled(l, l.mul(size, l.splat(-2.0)));
    let far = l.div(l.sub(one, e), l.add(one, e));
    let far = l.select_gt(x, zero, far, l.sub(zero, far));
    l.select_gt(size, l.splat(0.625), far, near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        SimdLevel,
        simd::{LaneKernel, dispatch, levels},
    };

    struct Map<'a, const TANH: bool>(&'a [f32], &'a mut [f32]);

    impl<const TANH: bool, L: Floats> LaneKernel<L> for Map<'_, TANH> {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            for (x, y) in self.0.chunks_exact(L::N).zip(self.1.chunks_exact_mut(L::N)) {
                let x = l.load(x);
                l.store(y, if TANH { tanh(l, x) } else { sigmoid(l, x) });
            }
        }
    }

    #[test]
    fn both_are_as_close_as_they_say_and_keep_what_is_not_finite() {
        let x: Vec<f32> = (0..1 << 16).map(|i| (i - (1 << 15)) as f32 * 20.0 / (1 << 15) as f32).collect();
        let ends = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 1e-30, -0.0, 0.0].repeat(2);
        for simd in levels() {
            let slope = if simd.level() == SimdLevel::Portable { 7e-8 } else { 4e-9 };
            let mut y = vec![0.0; x.len()];
            dispatch(simd, Map::<false>(&x, &mut y));
            for (&x, &y) in x.iter().zip(&y) {
                let want = 1.0 / (1.0 + (-f64::from(x)).exp());
                let bound = 4e-7 + slope * f64::from(x.abs());
                assert!((f64::from(y) / want - 1.0).abs() < bound, "{simd:?}: sigmoid({x}) = {y}");
            }
            dispatch(simd, Map::<true>(&x, &mut y));
            for (&x, &y) in x.iter().zip(&y) {
                let want = f64::from(x).tanh();
                assert!((f64::from(y) - want).abs() <= 4e-7 * want.abs(), "{simd:?}: tanh({x}) = {y}");
            }
            let mut y = vec![0.0; ends.len()];
            dispatch(simd, Map::<false>(&ends, &mut y));
            assert!(y[0].is_nan() && y[1..8] == [1.0, 0.0, 1.0, 0.0, 0.5, 0.5, 0.5], "{simd:?}: {y:?}");
            dispatch(simd, Map::<true>(&ends, &mut y));
            assert!(y[0].is_nan() && y[1..8] == [1.0, -1.0, 1.0, -1.0, 1e-30, 0.0, 0.0], "{simd:?}: {y:?}");
        }
    }
}
