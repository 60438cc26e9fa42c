//! Functions of f32 that host and kernels compute alike, to the bit: no operation is fused.

/// The magnitude.
#[inline(always)]
#[must_use]
pub const fn abs(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0x7fff_ffff)
}

/// The greater of two numbers: the operation `maximum` of IEEE 754-2019.
///
/// NaN if either is NaN, and 0 above -0.
#[inline(always)]
#[must_use]
pub const fn maximum(a: f32, b: f32) -> f32 {
    if a > b {
        a
    } else if b > a {
        b
    } else if a == b {
        f32::from_bits(a.to_bits() & b.to_bits()) // the signs of two zeros may differ
    } else {
        a + b
    }
}

/// The lesser of two numbers: the operation `minimum` of IEEE 754-2019.
///
/// NaN if either is NaN, and -0 below 0.
#[inline(always)]
#[must_use]
pub const fn minimum(a: f32, b: f32) -> f32 {
    if a < b {
        a
    } else if b < a {
        b
    } else if a == b {
        f32::from_bits(a.to_bits() | b.to_bits()) // the signs of two zeros may differ
    } else {
        a + b
    }
}

/// `x` held within `low..=high`; NaN stays.
#[inline(always)]
#[must_use]
pub const fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// Huber's function: x^2 / 2 up to a magnitude of `delta`, and the tangent beyond.
#[inline(always)]
#[must_use]
pub const fn huber(x: f32, delta: f32) -> f32 {
    let magnitude = abs(x);
    if magnitude > delta { delta * (magnitude - 0.5 * delta) } else { 0.5 * x * x }
}

/// The natural logarithm, within 1 ulp: -inf at zeros, NaN below them.
///
/// FreeBSD's `logf`: x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and an odd
/// polynomial in s = f / (2 + f).
#[inline(always)]
#[must_use]
pub const fn ln(x: f32) -> f32 {
    const ROOT_HALF: u32 = 0x3f35_04f3;
    const LN2_HIGH: f32 = f32::from_bits(0x3f31_7180);
    const LN2_LOW: f32 = f32::from_bits(0x3717_f7d1);
    const C1: f32 = f32::from_bits(0x3f2a_aaaa);
    const C2: f32 = f32::from_bits(0x3ecc_ce13);
    const C3: f32 = f32::from_bits(0x3e91_e9ee);
    const C4: f32 = f32::from_bits(0x3e78_9e26);

    let tiny = x < f32::MIN_POSITIVE;
    let (normal, exponent) = if tiny { (x * 33_554_432.0, -25) } else { (x, 0) }; // 2^25
    let shifted = normal.to_bits().wrapping_sub(ROOT_HALF);
    let k = ((shifted as i32 >> 23) + exponent) as f32;
    let f = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(ROOT_HALF)) - 1.0;
    let s = f / (2.0 + f);
    let (z, half) = (s * s, 0.5 * f * f);
    let w = z * z;
    let r = z * (C1 + w * C3) + w * (C2 + w * C4);
    let value = s * (half + r) + k * LN2_LOW - half + f + k * LN2_HIGH;
    if x > 0.0 {
        if x < f32::INFINITY { value } else { x }
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else {
        f32::NAN
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    const ENDS: [f32; 9] =
        [f32::NEG_INFINITY, f32::MIN, -1.0, -0.0, 0.0, f32::from_bits(1), 1.0, f32::MAX, f32::INFINITY];

    #[test]
    fn logarithms_are_within_an_ulp_for_every_64th_float() {
        let mut worst = 0.0f64;
        for bits in (1..f32::INFINITY.to_bits()).step_by(61) {
            let x = f32::from_bits(bits);
            let (got, want) = (ln(x), f64::from(x).ln());
            let unit = f64::from(f32::from_bits((want.abs() as f32).to_bits() + 1)) - f64::from(want.abs() as f32);
            worst = worst.max((f64::from(got) - want).abs() / unit);
        }
        assert!(worst < 1.0, "{worst} ulp");
        assert_eq!([ln(0.0), ln(-0.0), ln(1.0)], [f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0]);
        assert_eq!(ln(f32::INFINITY), f32::INFINITY);
        assert!([-1.0, f32::NEG_INFINITY, f32::NAN].into_iter().all(|x| ln(x).is_nan()));
    }

    #[test]
    fn extremes_order_zeros_by_sign_and_keep_nan() {
        for (i, &a) in ENDS.iter().enumerate() {
            for (j, &b) in ENDS.iter().enumerate() {
                assert_eq!(maximum(a, b).to_bits(), ENDS[i.max(j)].to_bits());
                assert_eq!(minimum(a, b).to_bits(), ENDS[i.min(j)].to_bits());
            }
            for pair in [(a, f32::NAN), (f32::NAN, a)] {
                assert!(maximum(pair.0, pair.1).is_nan() && minimum(pair.0, pair.1).is_nan());
            }
        }
        assert_eq!(
            ENDS.map(abs),
            [f32::INFINITY, f32::MAX, 1.0, 0.0, 0.0, f32::from_bits(1), 1.0, f32::MAX, f32::INFINITY]
        );
    }
}
