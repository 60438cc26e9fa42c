//! IEEE and approximate float operations.
//!
//! Round-to-nearest forms are the host's, which are exact; every `f32` NaN comes out as the one PTX
//! produces.

use super::super::code::{Approx, Cmp, FBin, FUn, FloatClass};
use super::{PerLane, each1, map1, map2};

/// The NaN of every `f32` result.
pub(in crate::exec) const NAN32: u32 = 0x7fff_ffff;

/// The bits of a result, NaN made canonical.
#[inline(always)]
pub(in crate::exec) fn canon(value: f32) -> u32 {
    if value.is_nan() { NAN32 } else { value.to_bits() }
}

/// `-0` counts as below `+0`; a NaN loses against a number, unless `propagate`.
macro_rules! extremum {
    ($name:ident, $float:ty) => {
        #[inline(always)]
        fn $name(a: $float, b: $float, max: bool, propagate: bool) -> $float {
            if a.is_nan() || b.is_nan() {
                return if propagate || a.is_nan() && b.is_nan() {
                    <$float>::NAN
                } else if a.is_nan() {
                    b
                } else {
                    a
                };
            }
            if a == b {
                let (x, y) = (a.to_bits(), b.to_bits());
                return <$float>::from_bits(if max { x & y } else { x | y });
            }
            if (a < b) == max { b } else { a }
        }
    };
}
extremum!(extremum32, f32);
extremum!(extremum64, f64);

/// Two-operand arithmetic on `f32`.
#[inline(always)]
pub(in crate::exec) fn binary32(op: FBin, a: &PerLane<u32>, b: &PerLane<u32>) -> PerLane<u32> {
    macro_rules! go {
        ($f:expr) => {
            map2(a, b, |a, b| {
                let f: fn(f32, f32) -> f32 = $f;
                canon(f(f32::from_bits(a), f32::from_bits(b)))
            })
        };
    }
    match op {
        FBin::Add => go!(|a, b| a + b),
        FBin::Sub => go!(|a, b| a - b),
        FBin::Mul => go!(|a, b| a * b),
        FBin::Div => go!(|a, b| a / b),
        FBin::Min => go!(|a, b| extremum32(a, b, false, false)),
        FBin::Max => go!(|a, b| extremum32(a, b, true, false)),
        FBin::MinNan => go!(|a, b| extremum32(a, b, false, true)),
        FBin::MaxNan => go!(|a, b| extremum32(a, b, true, true)),
        FBin::CopySign => map2(a, b, |a, b| a & 0x8000_0000 | b & 0x7fff_ffff),
    }
}

/// Two-operand arithmetic on `f64`.
#[inline(always)]
pub(in crate::exec) fn binary64(op: FBin, a: &PerLane<u64>, b: &PerLane<u64>) -> PerLane<u64> {
    macro_rules! go {
        ($f:expr) => {
            map2(a, b, |a, b| {
                let f: fn(f64, f64) -> f64 = $f;
                f(f64::from_bits(a), f64::from_bits(b)).to_bits()
            })
        };
    }
    match op {
        FBin::Add => go!(|x, y| x + y),
        FBin::Sub => go!(|x, y| x - y),
        FBin::Mul => go!(|x, y| x * y),
        FBin::Div => go!(|x, y| x / y),
        FBin::Min => go!(|x, y| extremum64(x, y, false, false)),
        FBin::Max => go!(|x, y| extremum64(x, y, true, false)),
        FBin::MinNan => go!(|x, y| extremum64(x, y, false, true)),
        FBin::MaxNan => go!(|x, y| extremum64(x, y, true, true)),
        FBin::CopySign => go!(|x, y| y.copysign(x)),
    }
}

/// Subnormals to zero of the same sign.
#[inline(always)]
pub(in crate::exec) fn flush(value: u32) -> u32 {
    if value & 0x7f80_0000 == 0 { value & 0x8000_0000 } else { value }
}

/// One-operand arithmetic on `f32`.
#[inline(always)]
pub(in crate::exec) fn unary32(op: FUn, a: &PerLane<u32>) -> PerLane<u32> {
    macro_rules! go {
        ($f:expr) => {
            map1(a, |a| {
                let f: fn(f32) -> f32 = $f;
                canon(f(f32::from_bits(a)))
            })
        };
    }
    match op {
        FUn::Neg => map1(a, |a| a ^ 0x8000_0000),
        FUn::Abs => map1(a, |a| a & 0x7fff_ffff),
        FUn::Flush => map1(a, flush),
        FUn::Sqrt => go!(f32::sqrt),
        FUn::Rcp => go!(|a| 1.0 / a),
        FUn::Saturate => go!(|a| if a > 0.0 { a.min(1.0) } else { 0.0 }),
        FUn::Floor => go!(f32::floor),
        FUn::Ceil => go!(f32::ceil),
        FUn::Nearest => go!(f32::round_ties_even),
        FUn::Truncate => go!(f32::trunc),
    }
}

/// One-operand arithmetic on `f64`, in the lanes of `mask`.
#[inline(always)]
pub(in crate::exec) fn unary64(op: FUn, mask: u32, a: &PerLane<u64>) -> PerLane<u64> {
    each1(mask, a, |a| {
        let x = f64::from_bits(a);
        match op {
            FUn::Neg => return a ^ 1 << 63,
            FUn::Abs => return a & !(1 << 63),
            // PTX has them for `f32` only.
            FUn::Flush | FUn::Saturate => x,
            FUn::Sqrt => x.sqrt(),
            FUn::Rcp => 1.0 / x,
            FUn::Floor => x.floor(),
            FUn::Ceil => x.ceil(),
            FUn::Nearest => x.round_ties_even(),
            FUn::Truncate => x.trunc(),
        }
        .to_bits()
    })
}

/// Computes an approximate function: in `f64`, rounded once.
///
/// If a noise seed is given, the result is moved by up to two units in the last place.
pub(in crate::exec) fn approx(op: Approx, a: u32, noise: Option<u64>) -> u32 {
    let x = f64::from(f32::from_bits(a));
    let y = match op {
        Approx::Ex2 => x.exp2(),
        Approx::Lg2 => x.log2(),
        Approx::Sin => x.sin(),
        Approx::Cos => x.cos(),
        Approx::Rcp => 1.0 / x,
        Approx::Rsqrt => 1.0 / x.sqrt(),
        Approx::Sqrt => x.sqrt(),
        Approx::Tanh => x.tanh(),
    };
    perturb(y as f32, noise)
}

/// `div.approx` and `div.full`.
pub(in crate::exec) fn div_approx(a: u32, b: u32, noise: Option<u64>) -> u32 {
    let y = f64::from(f32::from_bits(a)) / f64::from(f32::from_bits(b));
    perturb(y as f32, noise)
}

/// Moves a finite, normal value by -2 to 2 units in the last place.
///
/// The distance is a hash of the value and the seed.
fn perturb(value: f32, noise: Option<u64>) -> u32 {
    let bits = canon(value);
    let Some(seed) = noise.filter(|_| value.is_normal()) else { return bits };
    let hash = mix(u64::from(bits) ^ mix(seed));
    let moved = bits.wrapping_add((hash % 5) as u32).wrapping_sub(2);
    if f32::from_bits(moved).is_normal() { moved } else { bits }
}

/// A bijective 64-bit mixer (the finaliser of SplitMix64).
pub(in crate::exec) fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A comparison of floats; the unordered forms hold if either is NaN.
#[inline(always)]
pub(in crate::exec) fn compare<F: PartialOrd + Copy>(op: Cmp, a: F, b: F) -> bool {
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    let unordered = a != a || b != b;
    match op {
        Cmp::Eq => a == b,
        Cmp::Ne => a != b && !unordered,
        Cmp::Lt => a < b,
        Cmp::Le => a <= b,
        Cmp::Gt => a > b,
        Cmp::Ge => a >= b,
        Cmp::EqU => a == b || unordered,
        Cmp::NeU => a != b,
        Cmp::LtU => a < b || unordered,
        Cmp::LeU => a <= b || unordered,
        Cmp::GtU => a > b || unordered,
        Cmp::GeU => a >= b || unordered,
        Cmp::Num => !unordered,
        Cmp::Nan => unordered,
    }
}

/// `testp`.
pub(in crate::exec) fn class_of(class: FloatClass, value: f64, normal: bool) -> bool {
    match class {
        FloatClass::Finite => value.is_finite(),
        FloatClass::Infinite => value.is_infinite(),
        FloatClass::Number => !value.is_nan(),
        FloatClass::NotANumber => value.is_nan(),
        FloatClass::Normal => normal,
        FloatClass::Subnormal => value.is_finite() && value != 0.0 && !normal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mixer_is_that_of_splitmix64() {
        // The first outputs for seed 1234567, as published with the reference implementation in C.
        let outputs = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for (index, output) in (1..).zip(outputs) {
            assert_eq!(mix(1_234_567 + 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index)), output);
        }
    }
}
