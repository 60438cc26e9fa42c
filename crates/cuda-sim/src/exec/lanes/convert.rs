//! Conversions between number formats. Float to integer saturates, and NaN gives zero.

use super::super::code::Cvt;
use super::super::register::HalfKind;
use super::float::canon;
use super::half::{narrow, widen_bf16, widen_f16};
use super::{PerLane, each1, map1};

/// Clamps a value to an integer type of `bits` bits.
///
/// The result is in the low bits, zero extended.
fn clamp(value: f64, bits: u8, signed: bool) -> u32 {
    let (low, high) = match (bits, signed) {
        (8, true) => (f64::from(i8::MIN), f64::from(i8::MAX)),
        (8, false) => (0.0, f64::from(u8::MAX)),
        (16, true) => (f64::from(i16::MIN), f64::from(i16::MAX)),
        (16, false) => (0.0, f64::from(u16::MAX)),
        (_, true) => (f64::from(i32::MIN), f64::from(i32::MAX)),
        (_, false) => (0.0, f64::from(u32::MAX)),
    };
    if value.is_nan() {
        return 0;
    }
    let word = value.trunc().clamp(low, high) as i64 as u32;
    if bits < 32 { word & ((1 << bits) - 1) } else { word }
}

/// Conversions within the 32-bit file, at least in the lanes of `mask`.
#[inline(always)]
pub(in crate::exec) fn from32_to32(op: Cvt, mask: u32, a: &PerLane<u32>) -> PerLane<u32> {
    let tf32 = |a: u32| {
        let x = f32::from_bits(a);
        if x.is_nan() { canon(x) } else { a.wrapping_add(1 << 12) & !0x1fff }
    };
    match op {
        Cvt::U32F32 => map1(a, |a| (a as f32).to_bits()),
        Cvt::S32F32 => map1(a, |a| (a as i32 as f32).to_bits()),
        Cvt::F32Int(32, true) => map1(a, |a| f32::from_bits(a) as i32 as u32),
        Cvt::F32Int(32, false) => map1(a, |a| f32::from_bits(a) as u32),
        Cvt::F32Int(bits, signed) => each1(mask, a, |a| clamp(f32::from_bits(a).into(), bits, signed)),
        Cvt::F16F32 => map1(a, |a| canon(widen_f16(a as u16))),
        Cvt::Bf16F32 => map1(a, |a| canon(widen_bf16(a as u16))),
        Cvt::F32Tf32 => map1(a, tf32),
        _ => *a,
    }
}

/// Conversions from the 32-bit to the 64-bit file.
#[inline(always)]
pub(in crate::exec) fn from32_to64(op: Cvt, a: u32) -> u64 {
    let x = f32::from_bits(a);
    match op {
        Cvt::U32F64 => f64::from(a).to_bits(),
        Cvt::S32F64 => f64::from(a as i32).to_bits(),
        Cvt::F32F64 => f64::from(x).to_bits(),
        Cvt::F32Int64(true) => x as i64 as u64,
        Cvt::F32Int64(false) => x as u64,
        _ => u64::from(a),
    }
}

/// Conversions from the 64-bit to the 32-bit file.
#[inline(always)]
pub(in crate::exec) fn from64_to32(op: Cvt, a: u64) -> u32 {
    let x = f64::from_bits(a);
    match op {
        Cvt::U64F32 => (a as f32).to_bits(),
        Cvt::S64F32 => (a as i64 as f32).to_bits(),
        Cvt::F64F32 => canon(x as f32),
        Cvt::F64Int(bits, signed) => clamp(x, bits, signed),
        // An integer within the range of `f16` is exact as `f32`.
        Cvt::S64F16 => u32::from(narrow(HalfKind::F16, a as i64 as f32)),
        Cvt::U64F16 => u32::from(narrow(HalfKind::F16, a as f32)),
        Cvt::Narrow(source_signed, bits, signed) => {
            let value = if source_signed { i128::from(a as i64) } else { i128::from(a) };
            let (low, high) =
                if signed { (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
            let word = value.clamp(low, high) as u32;
            if bits < 32 { word & ((1 << bits) - 1) } else { word }
        }
        _ => a as u32,
    }
}

/// Conversions within the 64-bit file.
#[inline(always)]
pub(in crate::exec) fn from64_to64(op: Cvt, a: u64) -> u64 {
    let x = f64::from_bits(a);
    match op {
        Cvt::U64F64 => (a as f64).to_bits(),
        Cvt::S64F64 => (a as i64 as f64).to_bits(),
        Cvt::F64Int64(true) => x as i64 as u64,
        Cvt::F64Int64(false) => x as u64,
        _ => a,
    }
}

/// Which files a conversion reads and writes: true for 64-bit.
pub(in crate::exec) fn widths(op: Cvt) -> (bool, bool) {
    match op {
        Cvt::U32F64 | Cvt::S32F64 | Cvt::F32F64 | Cvt::F32Int64(_) => (false, true),
        Cvt::U64F32 | Cvt::S64F32 | Cvt::F64F32 | Cvt::F64Int(..) | Cvt::S64F16 | Cvt::U64F16 | Cvt::Narrow(..) => {
            (true, false)
        }
        Cvt::U64F64 | Cvt::S64F64 | Cvt::F64Int64(_) => (true, true),
        _ => (false, false),
    }
}
