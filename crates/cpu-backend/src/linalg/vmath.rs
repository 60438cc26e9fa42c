//! Functions of f32 vectors.
//!
//! `exp(x) = 2^n exp(r)` with the integer `n` nearest to `x / ln 2` and `r = x - n ln 2`.

use crate::simd::{LaneKernel, floats::Floats};

/// Adding it to |x| < 2^22 rounds x to an integer, which is then in the low bits.
const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
/// ln 2 in 16 bits, so that products with |n| <= 256 are exact.
const LN2_HIGH: f32 = 0.693_145_75;
/// ln 2 - LN2_HIGH.
const LN2_LOW: f32 = 1.428_606_8e-6;

/// exp(x), with a relative error below 2 ulp for results from 2^-126.
///
/// Results below that are correctly rounded to a multiple of 2^-149 up to the same error. The
/// result is 0 from -104 down, infinity from 88.73 up, and NaN for NaN.
///
/// Cody-Waite reduction x = n ln 2 + r with |r| <= ln(2)/2, then a minimax polynomial of degree 6
/// (relative error 3.2e-9) and two exact factors 2^(n/2), so that subnormal results are rounded
/// once.
#[inline(always)]
pub(crate) fn exp<L: Floats>(l: L, x: L::V) -> L::V {
    l.inline(Exp(x))
}

/// A call of [`exp`].
struct Exp<V>(V);

impl<L: Floats> LaneKernel<L> for Exp<L::V> {
    type Out = L::V;

    #[inline(always)]
    fn run(self, l: L) -> L::V {
        let Self(x) = self;
        let round = l.splat(ROUND);
        let x = l.min(l.splat(89.0), l.max(l.splat(-104.5), x)); // bounds first: NaN stays
        let n = l.sub(l.mul_add(x, l.splat(core::f32::consts::LOG2_E), round), round);
        let r = l.neg_mul_add(n, l.splat(LN2_HIGH), x);
        let r = l.neg_mul_add(n, l.splat(LN2_LOW), r);
        let mut p = l.splat(1.382_099_5e-3);
        for c in [8.368_673e-3, 4.166_826_2e-2, 1.666_652_1e-1, 4.999_999_4e-1, 1.0, 1.0] {
            p = l.mul_add(p, r, l.splat(c));
        }
        // |n| <= 151, so both halves are far from the ends of the exponent.
        let half = l.mul_add(n, l.splat(0.5), round);
        let rest = l.add(l.sub(n, l.sub(half, round)), round);
        let one = l.splat(1.0);
        l.mul(l.mul(p, l.shift_exponent(one, half)), l.shift_exponent(one, rest))
    }
}

/// The factor by which [`exp_scaled`] exceeds exp.
pub(crate) const EXP_SCALE: f32 = 18_446_744_073_709_551_616.0; // 2^64

/// 2^64 exp(x) for x <= 0 or NaN, constant from -104 down.
///
/// The relative error is below 2e-7 + 3e-9 |x|. On the portable level, where n ln 2 is rounded, it
/// is below 2e-7 + 6e-8 |x|.
///
/// The scale keeps every result normal, so one integer addition replaces two products; a caller
/// that divides by a sum of such terms loses the scale for nothing, and terms from -104 down become
/// zero there. Polynomial of degree 5 (relative error 9.3e-8) and ln 2 in one piece (2e-9 per ln 2
/// of |x|).
#[inline(always)]
pub(crate) fn exp_scaled<L: Floats>(l: L, x: L::V) -> L::V {
    l.inline(ExpScaled(x))
}

/// A call of [`exp_scaled`].
struct ExpScaled<V>(V);

impl<L: Floats> LaneKernel<L> for ExpScaled<L::V> {
    type Out = L::V;

    #[inline(always)]
    fn run(self, l: L) -> L::V {
        let Self(x) = self;
        let scaled_round = l.splat(ROUND + 64.0);
        let x = l.max(l.splat(-104.0), x); // bound first: NaN stays
        let t = l.mul_add(x, l.splat(core::f32::consts::LOG2_E), scaled_round);
        let n = l.sub(t, scaled_round);
        let r = l.neg_mul_add(n, l.splat(core::f32::consts::LN_2), x);
        let mut p = l.splat(8.289_483e-3);
        for c in [4.189_815_7e-2, 1.666_765e-1, 4.999_914_8e-1, 9.999_997e-1, 1.0] {
            p = l.mul_add(p, r, l.splat(c));
        }
        // -151 <= n <= 0 and 0.7 < p < 1.42: the exponent stays within -88..=64.
        l.shift_exponent(p, t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        SimdLevel,
        simd::{dispatch, levels},
    };

    struct Map<'a, const SCALED: bool>(&'a [f32], &'a mut [f32]);

    impl<const SCALED: bool, L: Floats> LaneKernel<L> for Map<'_, SCALED> {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            for (x, y) in self.0.chunks_exact(L::N).zip(self.1.chunks_exact_mut(L::N)) {
                let x = l.load(x);
                l.store(y, if SCALED { exp_scaled(l, x) } else { exp(l, x) });
            }
        }
    }

    /// The distance in units of the last place of the f32 at `want`.
    fn ulps(got: f32, want: f64) -> f64 {
        let e = want.abs().log2().floor().clamp(-126.0, 127.0);
        (f64::from(got) - want).abs() / (e - 23.0).exp2()
    }

    #[test]
    fn exp_is_within_two_ulp_for_every_64th_float() {
        for simd in levels() {
            let (mut x, mut y) = (vec![0.0; 1 << 12], vec![0.0; 1 << 12]);
            let mut worst = 0.0f64;
            for block in 0..1u32 << 14 {
                for (i, x) in x.iter_mut().enumerate() {
                    *x = f32::from_bits(((block << 12) + i as u32).wrapping_mul(64).wrapping_add(block & 63));
                }
                dispatch(simd, Map::<false>(&x, &mut y));
                for (&x, &y) in x.iter().zip(&y) {
                    let want = f64::from(x).exp();
                    if x.is_nan() {
                        assert!(y.is_nan());
                    } else if x >= 88.722_84 {
                        assert_eq!(y, f32::INFINITY, "exp({x})");
                    } else if x <= -104.0 {
                        assert_eq!(y, 0.0, "exp({x})");
                    } else {
                        worst = worst.max(ulps(y, want));
                    }
                }
            }
            assert!(worst < 2.0, "{simd:?}: {worst} ulp");
        }
    }

    #[test]
    fn scaled_exp_stays_within_its_bound_and_keeps_nan() {
        for simd in levels() {
            let slope = if simd.level() == SimdLevel::Portable { 6e-8 } else { 3e-9 };
            let x: Vec<f32> = (0..1 << 20).map(|i| -105.0 * i as f32 / (1 << 20) as f32).collect();
            let mut y = vec![0.0; x.len()];
            dispatch(simd, Map::<true>(&x, &mut y));
            for (&x, &y) in x.iter().zip(&y) {
                let x = f64::from(x).max(-104.0);
                let want = x.exp() * f64::from(EXP_SCALE);
                assert!((f64::from(y) / want - 1.0).abs() < 2e-7 - slope * x, "{simd:?}: exp({x})");
            }
            let (x, mut y) = ([f32::NAN; 16], [0.0; 16]);
            dispatch(simd, Map::<true>(&x, &mut y));
            assert!(y.iter().all(|y| y.is_nan()));
            let (x, mut y) = ([f32::NEG_INFINITY; 16], [0.0; 16]);
            dispatch(simd, Map::<true>(&x, &mut y));
            assert!(y.iter().all(|y| y / EXP_SCALE == 0.0));
        }
    }
}
