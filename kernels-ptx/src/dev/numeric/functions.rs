//! Functions of f32.
//!
//! All operations are correctly rounded: every device and the simulator give the same bits.

use core::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

use super::math::{abs, fma};

/// Adding it to |x| < 2^22 rounds x to an integer, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
/// ln 2 in 16 bits, so that products with |n| <= 256 are exact.
const LN2_HIGH: f32 = 0.693_145_75;
/// ln 2 - LN2_HIGH.
const LN2_LOW: f32 = 1.428_606_8e-6;

/// The polynomial in `$x` with these coefficients, the highest first, by Horner's rule.
macro_rules! horner {
    ($x:ident: $highest:literal $($next:literal)+) => {{
        let mut p = $highest;
        $(p = fma(p, $x, $next);)+
        p
    }};
}

/// `2^n` for `n + ROUND` with -126 <= n <= 127.
#[inline(always)]
fn power_of_two(rounded: f32) -> f32 {
    f32::from_bits((rounded.to_bits() << 23).wrapping_add(1f32.to_bits()))
}

/// `exp(x) = p 2^n` as (p, n + ROUND), for -2^22 < x < 2^22 or NaN.
///
/// Cody-Waite reduction and a minimax polynomial of degree 6 (relative error 3.2e-9).
#[inline(always)]
fn exp_parts(x: f32) -> (f32, f32) {
    let rounded = fma(x, LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = fma(-n, LN2_LOW, fma(-n, LN2_HIGH, x));
    (horner!(r: 1.382_099_5e-3 8.368_673e-3 4.166_826_2e-2 1.666_652_1e-1 4.999_999_4e-1 1.0 1.0), rounded)
}

/// exp(x), relative error below 2 ulp; 0 from -104 down, infinity from 88.73 up, NaN for NaN.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = if x < -104.5 { -104.5 } else { x }; // NaN stays
    let x = if x > 89.0 { 89.0 } else { x };
    let (p, rounded) = exp_parts(x);
    // |n| <= 151: two factors, so that a subnormal result is rounded once.
    let n = rounded - ROUND;
    let half = fma(n, 0.5, ROUND);
    let rest = n - (half - ROUND) + ROUND;
    p * power_of_two(half) * power_of_two(rest)
}

/// exp(x) for x <= 0 or NaN, relative error below 2 ulp.
///
/// 0 below -87, where the term of a softmax is below 2^-125.
#[inline(always)]
pub fn exp_nonpositive(x: f32) -> f32 {
    let (p, rounded) = exp_parts(if x < -87.0 { 0.0 } else { x });
    if x < -87.0 { 0.0 } else { p * power_of_two(rounded) }
}

/// `ln(ties + rest)` for a whole number `ties >= 1` and `rest >= 0`.
///
/// Accurate for a small rest and a single tie.
#[inline(always)]
pub fn log_of_parts(rest: f32, ties: f32) -> f32 {
    let sum = ties + rest;
    let lost = rest - (sum - ties);
    log(sum) + lost / sum
}

/// ln(x) for a finite x >= 1, relative error below 2e-7; the polynomial of Cephes' logf.
#[inline(always)]
pub fn log(x: f32) -> f32 {
    // x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
    let shifted = x.to_bits().wrapping_sub(FRAC_1_SQRT_2.to_bits());
    let e = (shifted as i32 >> 23) as f32;
    let f = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(FRAC_1_SQRT_2.to_bits())) - 1.0;
    let z = f * f;
    let p = horner!(f: 7.037_683_6e-2 -1.151_461e-1 1.167_699_9e-1 -1.242_014_1e-1 1.424_932_3e-1 -1.666_805_8e-1
        2.000_071_5e-1 -2.499_999_4e-1 3.333_333_1e-1);
    let tail = fma(e, -2.121_944_4e-4, p * f * z);
    fma(e, 0.693_359_375, f + fma(z, -0.5, tail))
}

/// 1 / (1 + exp(-x)).
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// tanh(x): the polynomial of Cephes' tanhf below 0.625, 1 - 2 / (exp(2x) + 1) above.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let z = x * x;
    let p = horner!(z: -5.704_988_7e-3 2.063_909e-2 -5.373_971_6e-2 1.333_144_2e-1 -3.333_328e-1);
    let near = fma(p * z, x, x);
    let far = 1.0 - 2.0 / (exp(x + x) + 1.0);
    if abs(x) > 0.625 { far } else { near }
}

/// The normal distribution function.
///
/// It uses the Chebyshev fit of erfc in Numerical Recipes (relative error 1.2e-7).
#[inline(always)]
pub fn normal_cdf(x: f32) -> f32 {
    let z = abs(x) * FRAC_1_SQRT_2;
    let t = 1.0 / fma(z, 0.5, 1.0);
    let p = horner!(t: 0.170_872_77 -0.822_152_23 1.488_515_9 -1.135_204 0.278_868_07 -0.186_288_06 0.096_784_18
        0.374_091_96 1.000_023_7 -1.265_512_2);
    let tail = t * 0.5 * exp(fma(-z, z, p));
    if x > 0.0 { 1.0 - tail } else { tail }
}
