//! Arithmetic on `f16` and `bf16`, each result rounded once.
//!
//! Conversions select between results without a branch, so that loops over lanes vectorise.

use std::cmp::Ordering;

use super::super::code::{Cmp, HalfOp};
use super::super::register::HalfKind;
use super::float::compare;

/// The value of an `f16`.
#[inline(always)]
pub(in crate::exec) fn widen_f16(bits: u16) -> f32 {
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff) << 13);
    // The factor moves the exponent between the two biases, and makes subnormal numbers normal.
    let finite = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let infinite = magnitude | f32::INFINITY.to_bits();
    f32::from_bits(sign | if magnitude < 0x7c00 << 13 { finite } else { infinite })
}

/// The value of a `bf16`.
#[inline(always)]
pub(in crate::exec) fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The value of a 16-bit float.
#[inline(always)]
pub(in crate::exec) fn widen(kind: HalfKind, bits: u16) -> f32 {
    match kind {
        HalfKind::F16 | HalfKind::F16x2 => widen_f16(bits),
        HalfKind::Bf16 | HalfKind::Bf16x2 => widen_bf16(bits),
    }
}

/// Rounds to the nearest `f16`, ties to even; NaN becomes `0x7fff`.
#[inline(always)]
pub(in crate::exec) fn narrow_f16(value: f32) -> u16 {
    /// 2^-14, below which an `f16` is subnormal, and 2^16, from which on it is infinite.
    const BOUNDS: [u32; 2] = [113 << 23, 143 << 23];
    let (sign, magnitude) = (value.to_bits() >> 16 & 0x8000, value.abs().to_bits());
    let normal = magnitude.wrapping_add(0xfff + (magnitude >> 13 & 1)).wrapping_sub(112 << 23) >> 13;
    // The sum with 1/2 is rounded to the last place of a subnormal `f16`.
    let subnormal = (value.abs() + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    let finite = if magnitude < BOUNDS[0] { subnormal } else { normal };
    let rounded = sign | if magnitude < BOUNDS[1] { finite } else { 0x7c00 };
    if value.is_nan() { 0x7fff } else { rounded as u16 }
}

/// Rounds to the nearest `bf16`, ties to even; NaN becomes `0x7fff`.
#[inline(always)]
pub(in crate::exec) fn narrow_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if value.is_nan() { 0x7fff } else { rounded as u16 }
}

/// Rounds to nearest even; NaN becomes `0x7fff`.
#[inline(always)]
pub(in crate::exec) fn narrow(kind: HalfKind, value: f32) -> u16 {
    match kind {
        HalfKind::F16 | HalfKind::F16x2 => narrow_f16(value),
        HalfKind::Bf16 | HalfKind::Bf16x2 => narrow_bf16(value),
    }
}

/// Rounds toward zero; NaN becomes `0x7fff`.
pub(in crate::exec) fn narrow_toward_zero(kind: HalfKind, value: f32) -> u16 {
    let nearest = narrow(kind, value);
    if widen(kind, nearest).abs() > value.abs() { nearest - 1 } else { nearest }
}

/// Rounds a double to the nearest `f32`, except that an inexact result gets an odd last bit.
///
/// A second rounding to 16 bits then gives what one rounding would.
fn round_odd(value: f64) -> f32 {
    let near = value as f32;
    let is_even = near.to_bits() & 1 == 0;
    match f64::from(near).partial_cmp(&value) {
        Some(Ordering::Less) if is_even => near.next_up(),
        Some(Ordering::Greater) if is_even => near.next_down(),
        _ => near,
    }
}

/// `a * b + c` with one rounding, for operands of at most 24 significant bits.
fn fused(a: f32, b: f32, c: f32) -> f32 {
    let (product, addend) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + addend;
    let shadow = sum - product;
    let error = (product - (sum - shadow)) + (addend - shadow);
    let is_even = sum.to_bits() & 1 == 0;
    // The exact sum lies next to `sum` on the side of `error`, which is NaN for an infinite sum.
    round_odd(match error.partial_cmp(&0.0) {
        Some(Ordering::Greater) if is_even => sum.next_up(),
        Some(Ordering::Less) if is_even => sum.next_down(),
        _ => sum,
    })
}

/// One operation on one value.
fn one(op: HalfOp, kind: HalfKind, a: u16, b: u16, c: u16) -> u16 {
    let (x, y) = (widen(kind, a), widen(kind, b));
    match op {
        HalfOp::Neg => a ^ 0x8000,
        HalfOp::Abs => a & 0x7fff,
        HalfOp::Add => narrow(kind, round_odd(f64::from(x) + f64::from(y))),
        HalfOp::Sub => narrow(kind, round_odd(f64::from(x) - f64::from(y))),
        HalfOp::Mul => narrow(kind, round_odd(f64::from(x) * f64::from(y))),
        HalfOp::Fma => narrow(kind, fused(x, y, widen(kind, c))),
    }
}

/// One operation on a register: one value, or both halves of a word.
pub(in crate::exec) fn arithmetic(op: HalfOp, kind: HalfKind, a: u32, b: u32, c: u32) -> u32 {
    let low = u32::from(one(op, kind, a as u16, b as u16, c as u16));
    match kind {
        HalfKind::F16 | HalfKind::Bf16 => low,
        HalfKind::F16x2 | HalfKind::Bf16x2 => {
            // Operations on pairs have two operands: c is not used.
            low | u32::from(one(op, kind, (a >> 16) as u16, (b >> 16) as u16, c as u16)) << 16
        }
    }
}

/// A comparison of two values.
pub(in crate::exec) fn compare_half(kind: HalfKind, op: Cmp, a: u32, b: u32) -> bool {
    compare(op, widen(kind, a as u16), widen(kind, b as u16))
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn every_16_bit_float_has_the_value_of_the_library() {
        for bits in 0..=u16::MAX {
            let expected = [f16::from_bits(bits).to_f32(), bf16::from_bits(bits).to_f32()];
            for (expected, value) in expected.into_iter().zip([widen_f16(bits), widen_bf16(bits)]) {
                assert!(expected.to_bits() == value.to_bits() || expected.is_nan() && value.is_nan(), "{bits:#x}");
            }
        }
    }

    /// Around each 16-bit float and each point between two of them, in single steps.
    #[test]
    fn every_rounding_is_that_of_the_library() {
        let hold = |value: f32| {
            let of = |is_nan: bool, bits: u16| if is_nan { 0x7fff } else { bits };
            let expected = [f16::from_f32(value).to_bits(), bf16::from_f32(value).to_bits()];
            let got = [narrow_f16(value), narrow_bf16(value)];
            assert_eq!(got, expected.map(|bits| of(value.is_nan(), bits)), "{value:e}, {:#x}", value.to_bits());
        };
        for bits in 0..=u16::MAX {
            for near in [f16::from_bits(bits).to_f32(), bf16::from_bits(bits).to_f32()] {
                for middle in [0, 1 << 12, 1 << 15, 1 << 22] {
                    let word = near.to_bits() | middle;
                    [word.wrapping_sub(1), word, word.wrapping_add(1)].map(f32::from_bits).into_iter().for_each(hold);
                }
            }
        }
        (0..1 << 20).map(|i: u32| f32::from_bits(i.wrapping_mul(0x9e37_79b1))).for_each(hold);
    }
}
