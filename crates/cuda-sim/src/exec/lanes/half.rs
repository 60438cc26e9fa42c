//! Arithmetic on `f16` and `bf16`, each result rounded once.

use std::cmp::Ordering;

use half::{bf16, f16};

use super::super::code::{Cmp, HalfOp};
use super::super::register::HalfKind;
use super::float::compare;

/// The value of a 16-bit float.
pub(in crate::exec) fn widen(kind: HalfKind, bits: u16) -> f32 {
    match kind {
        HalfKind::F16 | HalfKind::F16x2 => f16::from_bits(bits).to_f32(),
        HalfKind::Bf16 | HalfKind::Bf16x2 => bf16::from_bits(bits).to_f32(),
    }
}

/// Rounds to nearest even; NaN becomes `0x7fff`.
pub(in crate::exec) fn narrow(kind: HalfKind, value: f32) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    match kind {
        HalfKind::F16 | HalfKind::F16x2 => f16::from_f32(value).to_bits(),
        HalfKind::Bf16 | HalfKind::Bf16x2 => bf16::from_f32(value).to_bits(),
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
