//! Floats of 64 bits. Written by `cargo xtask build-ptx`.

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
    let v0 = f64::from_bits(a);
    let v1 = f64::from_bits(b);
    let v2 = f64::from_bits(c);
    let v3 = v2 * v0;
    let v4 = double::round_even(v0);
    let v5 = v3 as f32;
    let v6 = double::fma(v1, v0, v4);
    let v7 = v6 + v2;
    let v8 = single::floor(v5);
    let v9 = double::sqrt(double::abs(v7));
    let v10 = double::fma(v9, v4, v0);
    let end = u64::from(single::bits(v8));
    fold(end, double::bits(v10))
}

fn p1(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v2 as f64;
    let v4 = double::sqrt(double::abs(v3));
    let v5 = if v4 != v3 { double::max(v3, 0.1) } else { double::round_even(v3) };
    let v6 = if v3 < 0.5 { v5 } else { v4 };
    let v7 = v6 * v4;
    let v8 = double::trunc(v7);
    let v9 = if v1 >= v0 { v2 } else { -v2 };
    let v10 = v8 + v3;
    let end = u64::from(single::bits(v9));
    fold(end, double::bits(v10))
}

fn p2(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = f32::from_bits(b as u32);
    let v2 = f64::from_bits(c);
    let v3 = v2 + v0;
    let v4 = double::min(v3, v2);
    let v5 = double::max(v4, v2);
    let v6 = double::ceil(v5);
    let v7 = v6 * v4;
    let v8 = v7 + 0.5;
    let v9 = if v7 < v8 { v6 } else { v2 };
    let v10 = v9 * -0.0;
    let end = u64::from(single::bits(v1));
    fold(end, double::bits(v10))
}

fn p3(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = b as i32 as f64;
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = single::min(v0, v2);
    let v4 = v1 * 1e10;
    let v5 = double::fma(v4, v1, v1);
    let v6 = v5 + v4;
    let v7 = v6 - v4;
    let v8 = double::round_even(v5);
    let v9 = v1 * v7;
    let v10 = if v8 >= v9 { v6 } else { -v1 };
    let end = u64::from(single::bits(v3));
    fold(end, double::bits(v10))
}

fn p4(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v0 as f64;
    let v4 = v1 + -1.5;
    let v5 = v3 / f64::INFINITY;
    let v6 = v5 - v3;
    let v7 = double::abs(v6);
    let v8 = double::round_even(v3);
    let v9 = double::abs(v8);
    let v10 = v8 + v9;
    let end = u64::from(single::bits(v2));
    let end = fold(end, u64::from(single::bits(v4)));
    let end = fold(end, double::bits(v7));
    fold(end, double::bits(v10))
}

fn p5(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32) as f64;
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = if v0 != 1e10 { v0 - -1e-30 } else { double::trunc(v0) };
    let v4 = double::round_even(v3);
    let v5 = v2 as f64;
    let v6 = if v4 == v0 || v5 != v3 { 1e10 } else { v4 };
    let v7 = double::sqrt(v6);
    let v8 = v7 + -1e-30;
    let v9 = single::copysign(v1, v2);
    let v10 = v8 + v4;
    let end = u64::from(single::bits(v9));
    fold(end, double::bits(v10))
}

fn p6(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32) as f64;
    let v1 = b as i64 as f32;
    let v2 = f64::from_bits(c);
    let v3 = v0 * v2;
    let v4 = if v2 == f64::MIN_POSITIVE || v0 != v3 { f64::MIN_POSITIVE } else { v2 };
    let v5 = v3 * v4;
    let v6 = v3 + v5;
    let v7 = double::trunc(v4);
    let v8 = single::round_even(v1);
    let v9 = if v8 == v1 || v8 != v1 { 1e10 } else { v8 };
    let v10 = single::sqrt(single::abs(v9));
    let end = double::bits(v6);
    let end = fold(end, double::bits(v7));
    fold(end, u64::from(single::bits(v10)))
}

fn p7(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = f64::from_bits(b);
    let v2 = f64::from_bits(c);
    let v3 = if v0 < v1 { double::sqrt(v2) } else { double::sqrt(double::abs(v1)) };
    let v4 = double::round_even(v3);
    let v5 = if v4 == 1e10 || v0 != v2 { v3 } else { v1 };
    let v6 = double::sqrt(v4);
    let v7 = v0 / v5;
    let v8 = v6 as f32;
    let v9 = single::sqrt(v8);
    let v10 = if v1 > v7 { double::sqrt(double::abs(v1)) } else { double::fma(v0, v5, v1) };
    let end = u64::from(single::bits(v9));
    fold(end, double::bits(v10))
}

fn p8(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = b as i32 as f64;
    let v2 = f64::from_bits(c);
    let v3 = v0 * 1.0;
    let v4 = v3 as f32;
    let v5 = single::trunc(v4);
    let v6 = if v5 == v4 { v1 * 0.1 } else { double::sqrt(double::abs(v1)) };
    let v7 = double::min(v0, v2);
    let v8 = v6 * f64::MIN_POSITIVE;
    let v9 = v4 * v5;
    let v10 = double::ceil(v6);
    let end = double::bits(v7);
    let end = fold(end, double::bits(v8));
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, double::bits(v10))
}

fn p9(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32) as f64;
    let v1 = f64::from_bits(b);
    let v2 = c as i32 as f64;
    let v3 = v1 as f32;
    let v4 = double::floor(v0);
    let v5 = single::ceil(v3);
    let v6 = double::max(v1, v2);
    let v7 = double::max(v6, v4);
    let v8 = double::ceil(v7);
    let v9 = double::trunc(v8);
    let v10 = double::copysign(v1, f64::MIN_POSITIVE);
    let end = u64::from(single::bits(v5));
    let end = fold(end, double::bits(v9));
    fold(end, double::bits(v10))
}

fn p10(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32) as f64;
    let v1 = f32::from_bits(b as u32);
    let v2 = c as i32 as f64;
    let v3 = if v0 <= 0.0 { v1 / 1e10 } else { single::max(v1, f32::MAX) };
    let v4 = double::sqrt(v2);
    let v5 = if v4 != v0 { double::round_even(v4) } else { v0 + v4 };
    let v6 = double::trunc(v0);
    let v7 = if v4 < v5 { v6 } else { f64::INFINITY };
    let v8 = double::min(v4, v7);
    let v9 = single::abs(v3);
    let v10 = double::sqrt(double::abs(v0));
    let end = double::bits(v8);
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, double::bits(v10))
}

fn p11(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = b as i32 as f64;
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = double::floor(v1);
    let v4 = if v0 == 1e10 { double::trunc(v3) } else { double::ceil(v1) };
    let v5 = v4 * f64::MAX;
    let v6 = double::floor(v5);
    let v7 = if v6 >= v4 { v3 } else { -v1 };
    let v8 = double::ceil(v5);
    let v9 = single::max(v2, 0.1);
    let v10 = double::trunc(v8);
    let end = double::bits(v7);
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, double::bits(v10))
}

fn p12(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32) as f64;
    let v1 = f32::from_bits(b as u32) as f64;
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = double::abs(v1);
    let v4 = v0 - v3;
    let v5 = v2 * f32::MIN_POSITIVE;
    let v6 = v5 as f64;
    let v7 = double::sqrt(double::abs(v4));
    let v8 = if v2 == v5 || v2 != v5 { 3.0 } else { v2 };
    let v9 = v6 + v1;
    let v10 = single::fma(v8, v5, v2);
    let end = double::bits(v7);
    let end = fold(end, double::bits(v9));
    fold(end, u64::from(single::bits(v10)))
}

fn p13(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = f64::from_bits(b);
    let v2 = f64::from_bits(c);
    let v3 = if v0 == v1 { v2 + v1 } else { double::ceil(v2) };
    let v4 = -v0;
    let v5 = v3 as f32;
    let v6 = if v4 == v1 || v0 != v2 { v3 } else { v2 };
    let v7 = v2 + 1e10;
    let v8 = single::trunc(v5);
    let v9 = double::floor(v6);
    let v10 = v9 - v4;
    let end = double::bits(v7);
    let end = fold(end, u64::from(single::bits(v8)));
    fold(end, double::bits(v10))
}

fn p14(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = f32::from_bits(b as u32) as f64;
    let v2 = c as i64 as f32;
    let v3 = v1 - v0;
    let v4 = if v0 < v3 { v1 } else { -1.5 };
    let v5 = double::fma(v1, v4, v0);
    let v6 = double::fma(v4, v5, v3);
    let v7 = v4 * v6;
    let v8 = single::max(v2, -1e-30);
    let v9 = if v7 >= 1e10 { double::abs(v7) } else { double::sqrt(double::abs(v0)) };
    let v10 = double::sqrt(v1);
    let end = u64::from(single::bits(v8));
    let end = fold(end, double::bits(v9));
    fold(end, double::bits(v10))
}

fn p15(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = b as i64 as f32;
    let v2 = f64::from_bits(c);
    let v3 = double::abs(v2);
    let v4 = single::max(v0, 0.5);
    let v5 = double::ceil(v3);
    let v6 = double::min(v2, v5);
    let v7 = double::fma(v2, v3, 0.1);
    let v8 = double::round_even(v6);
    let v9 = v6 * 0.1;
    let v10 = double::max(v3, v8);
    let end = u64::from(single::bits(v1));
    let end = fold(end, u64::from(single::bits(v4)));
    let end = fold(end, double::bits(v7));
    let end = fold(end, double::bits(v9));
    fold(end, double::bits(v10))
}

fn p16(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32) as f64;
    let v2 = f32::from_bits(c as u32) as f64;
    let v3 = single::floor(v0);
    let v4 = v3 - v0;
    let v5 = double::copysign(v1, v2);
    let v6 = single::sqrt(v4);
    let v7 = double::max(v5, v1);
    let v8 = v6 + v0;
    let v9 = if v6 < v0 { v8 } else { -1e-30 };
    let v10 = double::fma(v7, v2, v1);
    let end = u64::from(single::bits(v9));
    fold(end, double::bits(v10))
}

fn p17(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = f64::from_bits(b);
    let v2 = f64::from_bits(c);
    let v3 = double::round_even(v1);
    let v4 = if v2 < v1 { v3 } else { v0 };
    let v5 = v4 as f32;
    let v6 = double::fma(v0, v2, v1);
    let v7 = v5 * f32::INFINITY;
    let v8 = double::min(v0, 1e10);
    let v9 = if v8 == v6 { double::max(v1, v8) } else { double::min(v8, v3) };
    let v10 = single::trunc(v7);
    let end = double::bits(v9);
    fold(end, u64::from(single::bits(v10)))
}

fn p18(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = b as i32 as f64;
    let v2 = f32::from_bits(c as u32);
    let v3 = if v1 >= 0.0 { v1 } else { -v1 };
    let v4 = single::min(v2, v0);
    let v5 = if v3 >= v1 { v3 } else { -v1 };
    let v6 = single::fma(v4, v0, -1.5);
    let v7 = double::max(v3, v5);
    let v8 = v6 as f64;
    let v9 = v8 - 1e10;
    let v10 = single::max(v2, v0);
    let end = double::bits(v7);
    let end = fold(end, double::bits(v9));
    fold(end, u64::from(single::bits(v10)))
}

fn p19(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = b as i32 as f64;
    let v2 = f64::from_bits(c);
    let v3 = double::round_even(v1);
    let v4 = v0 * v3;
    let v5 = v2 * 0.1;
    let v6 = v5 as f32;
    let v7 = if v4 == v0 || v1 != v3 { 6.5 } else { v5 };
    let v8 = if v0 >= v7 { v4 } else { -v3 };
    let v9 = double::min(v8, v5);
    let v10 = double::abs(v9);
    let end = u64::from(single::bits(v6));
    fold(end, double::bits(v10))
}

fn p20(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32) as f64;
    let v1 = f64::from_bits(b);
    let v2 = f64::from_bits(c);
    let v3 = double::round_even(v1);
    let v4 = double::trunc(v0);
    let v5 = v1 as f32;
    let v6 = v5 + -1.5;
    let v7 = v6 as f64;
    let v8 = double::ceil(v2);
    let v9 = single::abs(v5);
    let v10 = double::min(v4, v7);
    let end = double::bits(v3);
    let end = fold(end, double::bits(v8));
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, double::bits(v10))
}

fn p21(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32) as f64;
    let v1 = f32::from_bits(b as u32) as f64;
    let v2 = f64::from_bits(c);
    let v3 = v2 as f32;
    let v4 = double::max(v2, v1);
    let v5 = double::sqrt(v4);
    let v6 = v0 * v5;
    let v7 = single::round_even(v3);
    let v8 = double::fma(v6, 6.5, v2);
    let v9 = v3 + v7;
    let v10 = v9 * v3;
    let end = double::bits(v8);
    fold(end, u64::from(single::bits(v10)))
}

fn p22(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32 as f64;
    let v1 = f32::from_bits(b as u32) as f64;
    let v2 = f32::from_bits(c as u32);
    let v3 = double::fma(v1, v0, v0);
    let v4 = if v0 < v3 { v1 } else { f64::MIN_POSITIVE };
    let v5 = double::max(v4, v3);
    let v6 = if v5 == v4 { v2 - -0.0 } else { v2 - 1e10 };
    let v7 = if v1 > v5 { v6 - v2 } else { v2 * v6 };
    let v8 = single::fma(v6, 0.5, v2);
    let v9 = if v3 < 0.0 { v1 } else { v5 };
    let v10 = if v8 >= v7 { v9 * v0 } else { -v5 };
    double::bits(v10)
}

fn p23(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32 as f64;
    let v1 = f64::from_bits(b);
    let v2 = f64::from_bits(c);
    let v3 = double::min(v0, v2);
    let v4 = v3 as f32;
    let v5 = double::ceil(v3);
    let v6 = if v5 == 1e10 || v1 != v3 { v2 } else { v0 };
    let v7 = single::min(v4, 0.5);
    let v8 = double::round_even(v2);
    let v9 = double::max(v8, v3);
    let v10 = v9 * -1.5;
    let end = double::bits(v6);
    let end = fold(end, u64::from(single::bits(v7)));
    fold(end, double::bits(v10))
}

fn p24(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f64::from_bits(a);
    let v1 = f64::from_bits(b);
    let v2 = f64::from_bits(c);
    let v3 = v2 as f32;
    let v4 = double::copysign(v0, v1);
    let v5 = v3 + 0.1;
    let v6 = double::fma(v0, v4, v2);
    let v7 = if v5 <= v3 { single::floor(v3) } else { single::copysign(v5, v3) };
    let v8 = if v0 < 0.1 { v1 } else { v4 };
    let v9 = single::floor(v7);
    let v10 = double::fma(v8, v1, v6);
    let end = u64::from(single::bits(v9));
    fold(end, double::bits(v10))
}

fn p25(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32) as f64;
    let v1 = b as i64 as f32;
    let v2 = f64::from_bits(c);
    let v3 = v0 * 3.0;
    let v4 = if v2 >= 1.0 { v0 } else { -v3 };
    let v5 = if v1 > -1.5 { double::trunc(v4) } else { double::ceil(v2) };
    let v6 = double::round_even(v5);
    let v7 = if v2 < v6 { v5 } else { v4 };
    let v8 = double::min(v7, v3);
    let v9 = if v8 >= v3 { v5 } else { -v0 };
    let v10 = double::floor(v4);
    let end = double::bits(v9);
    fold(end, double::bits(v10))
}

fn p26(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = b as i32 as f64;
    let v2 = f64::from_bits(c);
    let v3 = double::fma(v2, v1, f64::INFINITY);
    let v4 = double::ceil(v1);
    let v5 = double::floor(v3);
    let v6 = v1 - v5;
    let v7 = double::floor(v6);
    let v8 = double::round_even(v7);
    let v9 = double::sqrt(v4);
    let v10 = single::fma(v0, v0, f32::INFINITY);
    let end = double::bits(v8);
    let end = fold(end, double::bits(v9));
    fold(end, u64::from(single::bits(v10)))
}

fn p27(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32) as f64;
    let v2 = f64::from_bits(c);
    let v3 = if v0 == 0.0 { double::sqrt(v2) } else { v1 * v2 };
    let v4 = single::sqrt(v0);
    let v5 = v3 + v1;
    let v6 = v5 * v2;
    let v7 = double::sqrt(v6);
    let v8 = single::min(v4, v0);
    let v9 = if v8 >= v4 { v7 / v5 } else { double::ceil(v1) };
    let v10 = double::min(v9, v2);
    double::bits(v10)
}
