//! Casts between integers and floats of all widths. Written by `cargo xtask build-ptx`.

use super::super::float::double;
use super::super::float::single;
use super::fold;

/// How many programs there are.
pub(crate) const COUNT: u32 = 28;

/// What program `program` makes of three words; 0 if there is no such program.
#[inline(always)]
pub(crate) fn run(program: u32, a: u64, b: u64, c: u64) -> u64 {
    match program {
        0 => p0(a, b, c),
        1 => p1(a, b, c),
        2 => p2(a, b, c),
        3 => p3(a, b, c),
        4 => p4(a, b, c),
        5 => p5(a, b, c),
        6 => p6(a, b, c),
        7 => p7(a, b, c),
        8 => p8(a, b, c),
        9 => p9(a, b, c),
        10 => p10(a, b, c),
        11 => p11(a, b, c),
        12 => p12(a, b, c),
        13 => p13(a, b, c),
        14 => p14(a, b, c),
        15 => p15(a, b, c),
        16 => p16(a, b, c),
        17 => p17(a, b, c),
        18 => p18(a, b, c),
        19 => p19(a, b, c),
        20 => p20(a, b, c),
        21 => p21(a, b, c),
        22 => p22(a, b, c),
        23 => p23(a, b, c),
        24 => p24(a, b, c),
        25 => p25(a, b, c),
        26 => p26(a, b, c),
        27 => p27(a, b, c),
        _ => 0,
    }
}

fn p0(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 23) as u32;
    let v1 = b as i32 as f64;
    let v2 = f32::from_bits(c as u32);
    let v3 = double::max(v1, 1.0);
    let v4 = single::fma(v2, v2, -1e-30);
    let v5 = v3 as u16;
    let v6 = if v3 >= v1 { v1 } else { -v3 };
    let v7 = double::fma(v6, v3, -1e-30);
    let v8 = v0 as f32;
    let v9 = double::round_even(v7);
    let v10 = v8 as u32;
    let end = u64::from(single::bits(v4));
    let end = fold(end, v5 as u64);
    let end = fold(end, double::bits(v9));
    fold(end, v10 as u64)
}

fn p1(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = b as i8;
    let v2 = f32::from_bits(c as u32) as f64;
    let v3 = double::copysign(v0, v2);
    let v4 = v3 as i8;
    let v5 = if v0 < 0.0 { v4.checked_div(v1).unwrap_or(v4) } else { v1.wrapping_mul(v4) };
    let v6 = v5 ^ v1;
    let v7 = v4.swap_bytes();
    let v8 = v3 as i8;
    let v9 = v6 as f64;
    let v10 = v5.wrapping_mul(v7);
    let end = v8 as u64;
    let end = fold(end, double::bits(v9));
    fold(end, v10 as u64)
}

fn p2(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = b as i8;
    let v2 = c as i8;
    let v3 = -v0;
    let v4 = v1 as f64;
    let v5 = double::min(v4, 1e10);
    let v6 = v2.leading_ones() as i8;
    let v7 = v5 as i16;
    let v8 = v6.wrapping_div(v1 | 1);
    let v9 = v0 as i8;
    let v10 = v7 as i8;
    let end = u64::from(single::bits(v3));
    let end = fold(end, v8 as u64);
    let end = fold(end, v9 as u64);
    fold(end, v10 as u64)
}

fn p3(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32 as f64;
    let v1 = (b >> 3) as i8;
    let v2 = c as u16;
    let v3 = v0 as f32;
    let v4 = v2.checked_div(u16::MIN).unwrap_or(v2);
    let v5 = v2 as i8;
    let v6 = v3 - 3.0;
    let v7 = v0 / f64::INFINITY;
    let v8 = v4.wrapping_sub(v2);
    let v9 = v7 as u16;
    let v10 = v8.checked_add(v9).unwrap_or(v2);
    let end = v1 as u64;
    let end = fold(end, v5 as u64);
    let end = fold(end, u64::from(single::bits(v6)));
    fold(end, v10 as u64)
}

fn p4(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = c as i64 as f32;
    let v3 = if v1 >= v2 { single::max(v0, v2) } else { single::max(v2, v0) };
    let v4 = v3 * v1;
    let v5 = v4 as u16;
    let v6 = v5.checked_div(9).unwrap_or(v5);
    let v7 = v6.wrapping_shl(v5 as u32 & 63);
    let v8 = v2 * v4;
    let v9 = if v0 >= v8 { v4 } else { -v3 };
    let v10 = if v7 <= v6 { single::fma(v9, v4, v3) } else { v2 + v0 };
    u64::from(single::bits(v10))
}

fn p5(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u16;
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f64::from_bits(c);
    let v3 = v0.checked_shl(v0 as u32 & 31).unwrap_or(0x2bc8);
    let v4 = if v2 >= f64::INFINITY { v2 } else { -v2 };
    let v5 = v3 as f32;
    let v6 = double::floor(v2);
    let v7 = v4 as i64;
    let v8 = v7 as f64;
    let v9 = if v6 >= v4 { v8 } else { -v2 };
    let v10 = if v7 >= -58 { v7 } else { !v7 };
    let end = u64::from(single::bits(v1));
    let end = fold(end, u64::from(single::bits(v5)));
    let end = fold(end, double::bits(v9));
    fold(end, v10 as u64)
}

fn p6(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32 as f64;
    let v1 = b as i32;
    let v2 = (c >> 23) as u8;
    let v3 = v2.checked_rem(11).unwrap_or(v2);
    let v4 = v3.wrapping_div(v2 | 1);
    let v5 = v4 as f32;
    let v6 = v4 as f32;
    let v7 = v1.wrapping_abs();
    let v8 = v0 as f32;
    let v9 = v3.wrapping_add(v4);
    let v10 = v8 as f64;
    let end = u64::from(single::bits(v5));
    let end = fold(end, u64::from(single::bits(v6)));
    let end = fold(end, v7 as u64);
    let end = fold(end, v9 as u64);
    fold(end, double::bits(v10))
}

fn p7(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = b as u32;
    let v2 = c as i64 as f32;
    let v3 = v2 as u16;
    let v4 = v1.checked_sub(u32::MAX >> 23).unwrap_or(u32::MIN);
    let v5 = v4 as u16;
    let v6 = v0 as f64;
    let v7 = v0 as u16;
    let v8 = v6 as f32;
    let v9 = v3 as u32;
    let v10 = v2 * v8;
    let end = v5 as u64;
    let end = fold(end, v7 as u64);
    let end = fold(end, v9 as u64);
    fold(end, u64::from(single::bits(v10)))
}

fn p8(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = f32::from_bits(b as u32);
    let v2 = c as i32;
    let v3 = v2 as i16;
    let v4 = v2 as i16;
    let v5 = v2.swap_bytes();
    let v6 = if v1 > -1.5 { single::round_even(v1) } else { v1 / f32::INFINITY };
    let v7 = v0 as i16;
    let v8 = v5.unbounded_shr(v5 as u32);
    let v9 = if v0 == -1.5 { v7.wrapping_sub(v4) } else { v3.wrapping_abs() };
    let v10 = v6 + v1;
    let end = v8 as u64;
    let end = fold(end, v9 as u64);
    fold(end, u64::from(single::bits(v10)))
}

fn p9(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v2 as f64;
    let v4 = -v3;
    let v5 = v1 as u8;
    let v6 = v0 as u16;
    let v7 = v1 as u16;
    let v8 = v0 * v2;
    let v9 = v8 * v2;
    let v10 = v5.rotate_left(v5 as u32);
    let end = double::bits(v4);
    let end = fold(end, v6 as u64);
    let end = fold(end, v7 as u64);
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, v10 as u64)
}

fn p10(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 16) as i16;
    let v1 = b as i16;
    let v2 = (c >> 21) as i16;
    let v3 = v2 as f64;
    let v4 = if v3 <= 1.0 { v1.signum() } else { v0.wrapping_abs() };
    let v5 = v4 as i8;
    let v6 = v3 as i16;
    let v7 = v6.wrapping_abs();
    let v8 = v5 as f32;
    let v9 = if v8 >= f32::INFINITY { v8 } else { -v8 };
    let v10 = v1.wrapping_add(v7);
    let end = u64::from(single::bits(v9));
    fold(end, v10 as u64)
}

fn p11(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b as i32 as f64;
    let v2 = (c >> 47) as i16;
    let v3 = v2 as u64;
    let v4 = v2.count_ones() as i16;
    let v5 = v4.wrapping_rem(v2 | 1);
    let v6 = double::fma(v1, 6.5, v1);
    let v7 = v3 as f32;
    let v8 = v0 as i16;
    let v9 = v4 as f32;
    let v10 = v3 as i16;
    let end = v5 as u64;
    let end = fold(end, double::bits(v6));
    let end = fold(end, u64::from(single::bits(v7)));
    let end = fold(end, v8 as u64);
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, v10 as u64)
}

fn p12(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = b as i8;
    let v2 = (c >> 28) as u8;
    let v3 = v2 as i8;
    let v4 = if v0 < 0.0 { v0 } else { 6.5 };
    let v5 = v2 as f64;
    let v6 = v1 as u8;
    let v7 = double::sqrt(v5);
    let v8 = v3.wrapping_shl(v6 as u32 & 127);
    let v9 = i8::from(v8 == v1);
    let v10 = v7 as i8;
    let end = u64::from(single::bits(v4));
    let end = fold(end, v9 as u64);
    fold(end, v10 as u64)
}

fn p13(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u32;
    let v1 = (b >> 21) as u32;
    let v2 = c as u32;
    let v3 = v0.wrapping_mul(v2);
    let v4 = v2.min(v3);
    let v5 = v4 as f64;
    let v6 = double::round_even(v5);
    let v7 = v6 as u32;
    let v8 = v7.wrapping_add(v0);
    let v9 = v6 as f32;
    let v10 = double::abs(v6);
    let end = v1 as u64;
    let end = fold(end, v8 as u64);
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, double::bits(v10))
}

fn p14(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = c as i64;
    let v3 = v1 as i8;
    let v4 = v3.rotate_left(v3 as u32 & 15);
    let v5 = v4.wrapping_div(v3 | 1);
    let v6 = v4 as f32;
    let v7 = v5 as f64;
    let v8 = double::copysign(v7, 0.1);
    let v9 = v3.wrapping_neg();
    let v10 = v1 + v0;
    let end = v2 as u64;
    let end = fold(end, u64::from(single::bits(v6)));
    let end = fold(end, double::bits(v8));
    let end = fold(end, v9 as u64);
    fold(end, u64::from(single::bits(v10)))
}

fn p15(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = b as i64;
    let v2 = c as u16;
    let v3 = if v2 <= u16::MAX >> 1 { v1.wrapping_add(4) } else { i64::from(v1.overflowing_add(i64::MAX).1) };
    let v4 = v2 as f32;
    let v5 = v3 as u16;
    let v6 = v4 as i64;
    let v7 = v4 as i64;
    let v8 = v7 as f64;
    let v9 = v4 * 1e10;
    let v10 = v6 as f32;
    let end = double::bits(v0);
    let end = fold(end, v5 as u64);
    let end = fold(end, double::bits(v8));
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, u64::from(single::bits(v10)))
}

fn p16(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = (b >> 28) as i8;
    let v2 = f32::from_bits(c as u32);
    let v3 = v2 as i8;
    let v4 = v0.checked_rem(i16::MIN).unwrap_or(v0);
    let v5 = v3 as f64;
    let v6 = if v5 == 6.5 || v5 != v5 { f64::MIN_POSITIVE } else { v5 };
    let v7 = v4.saturating_add(v0);
    let v8 = single::copysign(v2, 6.5);
    let v9 = v1.checked_div(i8::MAX >> 1).unwrap_or(v3);
    let v10 = -v6;
    let end = v7 as u64;
    let end = fold(end, u64::from(single::bits(v8)));
    let end = fold(end, v9 as u64);
    fold(end, double::bits(v10))
}

fn p17(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = b as u16;
    let v2 = c as i64;
    let v3 = v2 as f32;
    let v4 = v1.checked_mul(u16::MAX >> 13).unwrap_or(5);
    let v5 = v2.wrapping_mul(0x3828f406395b6dcd);
    let v6 = v5.unsigned_abs() as i64;
    let v7 = v6 as u16;
    let v8 = v5 as f64;
    let v9 = v7.checked_shr(v6 as u32 & 127).unwrap_or(v4);
    let v10 = v9 as f32;
    let end = u64::from(single::bits(v0));
    let end = fold(end, u64::from(single::bits(v3)));
    let end = fold(end, double::bits(v8));
    fold(end, u64::from(single::bits(v10)))
}

fn p18(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 35) as i8;
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f64::from_bits(c);
    let v3 = v2 as i8;
    let v4 = v1 as u32;
    let v5 = v4.min(u32::MIN);
    let v6 = v0 as u32;
    let v7 = double::abs(v2);
    let v8 = !v5;
    let v9 = v8.wrapping_div(v6 | 1);
    let v10 = v7 as f32;
    let end = v3 as u64;
    let end = fold(end, v9 as u64);
    fold(end, u64::from(single::bits(v10)))
}

fn p19(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 30) as i16;
    let v1 = (b >> 22) as i16;
    let v2 = c as i16;
    let v3 = v0.abs_diff(v1) as i16;
    let v4 = v2.wrapping_mul(v3);
    let v5 = v4.rotate_right(v2 as u32);
    let v6 = v1 as f32;
    let v7 = if v6 == 1e10 { v5.min(v2) } else { v5.unbounded_shl(v1 as u32 & 15) };
    let v8 = single::sqrt(v6);
    let v9 = v7.rotate_right(v1 as u32);
    let v10 = v9 as f32;
    let end = u64::from(single::bits(v8));
    fold(end, u64::from(single::bits(v10)))
}

fn p20(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 19) as u32;
    let v1 = (b >> 22) as u32;
    let v2 = c as i16;
    let v3 = v0.checked_shr(62).unwrap_or(v1);
    let v4 = v3 as f64;
    let v5 = v2 as f32;
    let v6 = v2 as u32;
    let v7 = v6 as f64;
    let v8 = v2 as f64;
    let v9 = v5 + 3.0;
    let v10 = v2 as f64;
    let end = double::bits(v4);
    let end = fold(end, double::bits(v7));
    let end = fold(end, double::bits(v8));
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, double::bits(v10))
}

fn p21(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = f64::from_bits(b);
    let v2 = c as u32;
    let v3 = single::fma(v0, 0.5, v0);
    let v4 = v2 as i16;
    let v5 = double::floor(v1);
    let v6 = v2 as f64;
    let v7 = if v6 < 1.0 { v3 * v0 } else { single::abs(v0) };
    let v8 = v5 * v1;
    let v9 = v4.checked_mul(0x57a).unwrap_or(0x42fb);
    let v10 = v9 as u32;
    let end = u64::from(single::bits(v7));
    let end = fold(end, double::bits(v8));
    fold(end, v10 as u64)
}

fn p22(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = (b >> 25) as i32;
    let v2 = c as i32;
    let v3 = single::sqrt(single::abs(v0));
    let v4 = v1 as f32;
    let v5 = v4 as i64;
    let v6 = v5 as f64;
    let v7 = v5.trailing_zeros() as i64;
    let v8 = v1 as f64;
    let v9 = v7 as f32;
    let v10 = single::ceil(v3);
    let end = v2 as u64;
    let end = fold(end, double::bits(v6));
    let end = fold(end, double::bits(v8));
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, u64::from(single::bits(v10)))
}

fn p23(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = b as i16;
    let v2 = c as i16;
    let v3 = v2.saturating_add(1);
    let v4 = v1 as f32;
    let v5 = v3.wrapping_rem_euclid(v2 | 1);
    let v6 = v0 as u16;
    let v7 = v6.checked_add(0x1853).unwrap_or(14);
    let v8 = v4 + 0.5;
    let v9 = v6.checked_add(v7).unwrap_or(u16::MAX);
    let v10 = v4 + v8;
    let end = v5 as u64;
    let end = fold(end, v9 as u64);
    fold(end, u64::from(single::bits(v10)))
}

fn p24(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = b;
    let v2 = c;
    let v3 = v2 as f32;
    let v4 = v3 as u64;
    let v5 = v1.wrapping_add(v4);
    let v6 = v5 as f64;
    let v7 = v5 as i32;
    let v8 = single::floor(v3);
    let v9 = -v8;
    let v10 = v6 as u64;
    let end = v0 as u64;
    let end = fold(end, v7 as u64);
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, v10)
}

fn p25(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 9) as i16;
    let v1 = f64::from_bits(b);
    let v2 = c as i32 as f64;
    let v3 = if v2 == v1 || v2 != v1 { 1e10 } else { v1 };
    let v4 = v0 as f64;
    let v5 = v0.trailing_zeros() as i16;
    let v6 = double::ceil(v3);
    let v7 = double::abs(v4);
    let v8 = v5.saturating_add(v0);
    let v9 = v8 as f32;
    let v10 = v1 * v7;
    let end = double::bits(v6);
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, double::bits(v10))
}

fn p26(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u16;
    let v1 = b as i32;
    let v2 = c as i32;
    let v3 = v1 as f32;
    let v4 = v0 as f64;
    let v5 = v0.wrapping_rem(v0 | 1);
    let v6 = v4 as u16;
    let v7 = v3 as i32;
    let v8 = double::fma(v4, v4, 0.0);
    let v9 = -v8;
    let v10 = v3 as i32;
    let end = v2 as u64;
    let end = fold(end, v5 as u64);
    let end = fold(end, v6 as u64);
    let end = fold(end, v7 as u64);
    let end = fold(end, double::bits(v9));
    fold(end, v10 as u64)
}

fn p27(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = c as i16;
    let v3 = v2.wrapping_abs();
    let v4 = v3 as f64;
    let v5 = v1 as u16;
    let v6 = v2 as u16;
    let v7 = v0 as f32;
    let v8 = v4 as i16;
    let v9 = v0 as u16;
    let v10 = v6.saturating_mul(v9);
    let end = v5 as u64;
    let end = fold(end, u64::from(single::bits(v7)));
    let end = fold(end, v8 as u64);
    fold(end, v10 as u64)
}
