//! Floats of 32 bits. Written by `cargo xtask build-ptx`.

use super::super::float::single;
use super::fold;

/// How many programs there are.
pub(crate) const COUNT: u32 = 32;

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
        28 => p28(a, b, c),
        29 => p29(a, b, c),
        30 => p30(a, b, c),
        31 => p31(a, b, c),
        _ => 0,
    }
}

fn p0(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v1 * -1.5;
    let v4 = single::copysign(v3, v2);
    let v5 = v4 * 0.5;
    let v6 = v1 + v5;
    let v7 = if v0 < v6 { single::fma(v6, 1.0, v4) } else { v2 + v1 };
    let v8 = single::fma(v7, v0, 6.5);
    let v9 = single::ceil(v7);
    let v10 = v9 + v3;
    let end = u64::from(single::bits(v8));
    fold(end, u64::from(single::bits(v10)))
}

fn p1(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = c as i64 as f32;
    let v3 = single::fma(v0, v2, v1);
    let v4 = single::fma(v3, -0.0, v0);
    let v5 = v4 - 0.0;
    let v6 = single::fma(v4, v5, v3);
    let v7 = single::sqrt(v6);
    let v8 = single::floor(v7);
    let v9 = if v8 >= 6.5 { v2 } else { -v3 };
    let v10 = v9 * v0;
    u64::from(single::bits(v10))
}

fn p2(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = v2 * v0;
    let v4 = single::ceil(v3);
    let v5 = single::trunc(v4);
    let v6 = v5 / v2;
    let v7 = single::sqrt(single::abs(v0));
    let v8 = v1 + 3.0;
    let v9 = if v8 == v5 || v7 != v6 { 6.5 } else { v4 };
    let v10 = if v0 != v9 { v6 - -1e-30 } else { v3 - v1 };
    u64::from(single::bits(v10))
}

fn p3(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = b as i64 as f32;
    let v2 = c as i64 as f32;
    let v3 = single::floor(v2);
    let v4 = v3 - v0;
    let v5 = v4 * f32::MIN_POSITIVE;
    let v6 = single::round_even(v3);
    let v7 = if v5 > v1 { v6 + v4 } else { -v6 };
    let v8 = if v7 < v3 { v6 } else { v4 };
    let v9 = if v8 < v5 { v2 } else { 0.0 };
    let v10 = if v9 < 1.0 { single::sqrt(v6) } else { single::fma(v4, v8, v3) };
    u64::from(single::bits(v10))
}

fn p4(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v1 * v0;
    let v4 = v3 + v2;
    let v5 = v1 + v4;
    let v6 = single::ceil(v5);
    let v7 = v6 - v5;
    let v8 = single::copysign(v7, v2);
    let v9 = if v8 != 1e10 { single::min(v7, v0) } else { single::copysign(v2, f32::MIN_POSITIVE) };
    let v10 = single::copysign(v1, v9);
    u64::from(single::bits(v10))
}

fn p5(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = single::trunc(v2);
    let v4 = single::copysign(v0, v3);
    let v5 = single::fma(v3, v4, v1);
    let v6 = if v5 == 1.0 { single::trunc(v2) } else { single::min(v1, v2) };
    let v7 = single::abs(v6);
    let v8 = v7 / v2;
    let v9 = single::sqrt(single::abs(v8));
    let v10 = v9 + 0.0;
    u64::from(single::bits(v10))
}

fn p6(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = if v1 > v0 { single::max(v2, v1) } else { single::sqrt(single::abs(v0)) };
    let v4 = single::fma(v3, v0, v1);
    let v5 = single::min(v3, v4);
    let v6 = single::ceil(v5);
    let v7 = single::sqrt(v6);
    let v8 = v1 * 1e10;
    let v9 = single::sqrt(single::abs(v7));
    let v10 = v7 + v1;
    let end = u64::from(single::bits(v8));
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, u64::from(single::bits(v10)))
}

fn p7(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = single::copysign(v2, -1e-30);
    let v4 = single::floor(v0);
    let v5 = single::min(v3, v4);
    let v6 = single::fma(v5, v4, v2);
    let v7 = single::abs(v0);
    let v8 = if v6 != v7 { single::ceil(v7) } else { -v6 };
    let v9 = if v3 >= v8 { v1 } else { -v6 };
    let v10 = single::max(v3, v9);
    u64::from(single::bits(v10))
}

fn p8(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits(c as u32);
    let v3 = single::floor(v0);
    let v4 = single::sqrt(v1);
    let v5 = single::round_even(v4);
    let v6 = single::trunc(v5);
    let v7 = single::sqrt(single::abs(v5));
    let v8 = v3 * v4;
    let v9 = single::fma(v7, v2, v6);
    let v10 = single::ceil(v1);
    let end = u64::from(single::bits(v8));
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, u64::from(single::bits(v10)))
}

fn p9(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = single::ceil(v0);
    let v4 = single::sqrt(single::abs(v3));
    let v5 = -v1;
    let v6 = single::fma(v2, v1, v5);
    let v7 = if v6 == 1e10 { v5 * v2 } else { -v3 };
    let v8 = if v7 > v6 { v6 * v3 } else { -v0 };
    let v9 = single::ceil(v8);
    let v10 = single::abs(v9);
    let end = u64::from(single::bits(v4));
    fold(end, u64::from(single::bits(v10)))
}

fn p10(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = single::min(v1, v0);
    let v4 = if v3 < v0 { v1 } else { f32::MAX };
    let v5 = single::fma(v4, v0, v1);
    let v6 = if v3 < v2 { single::trunc(v5) } else { single::fma(v2, v3, v5) };
    let v7 = single::min(v6, v0);
    let v8 = single::round_even(v7);
    let v9 = v8 + v1;
    let v10 = if v8 == -1.5 || v7 != v3 { v6 } else { v4 };
    let end = u64::from(single::bits(v9));
    fold(end, u64::from(single::bits(v10)))
}

fn p11(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = c as i64 as f32;
    let v3 = single::fma(v0, v2, v1);
    let v4 = if v2 < v3 { single::floor(v3) } else { single::sqrt(single::abs(v0)) };
    let v5 = v4 - v2;
    let v6 = v3 / v5;
    let v7 = -v6;
    let v8 = single::copysign(v7, v6);
    let v9 = single::min(v8, v0);
    let v10 = if v1 >= 1e10 { single::copysign(v9, 6.5) } else { -v3 };
    u64::from(single::bits(v10))
}

fn p12(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v1 / v2;
    let v4 = if v1 < f32::INFINITY { v3 } else { v2 };
    let v5 = v3 / 1.0;
    let v6 = -v0;
    let v7 = if v0 == v6 || v5 != v1 { v4 } else { v2 };
    let v8 = v7 + 6.5;
    let v9 = if v7 == 0.1 || v8 != v0 { v4 } else { v3 };
    let v10 = single::sqrt(single::abs(v9));
    u64::from(single::bits(v10))
}

fn p13(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits(c as u32);
    let v3 = if v0 == v1 || v2 != v1 { f32::INFINITY } else { v2 };
    let v4 = single::sqrt(v3);
    let v5 = v4 - v3;
    let v6 = if v4 >= v5 { v3 } else { -v1 };
    let v7 = single::copysign(v4, v0);
    let v8 = single::ceil(v6);
    let v9 = single::copysign(v3, v1);
    let v10 = v4 * v9;
    let end = u64::from(single::bits(v7));
    let end = fold(end, u64::from(single::bits(v8)));
    fold(end, u64::from(single::bits(v10)))
}

fn p14(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits(c as u32);
    let v3 = single::fma(v1, v0, v2);
    let v4 = v3 / v0;
    let v5 = v4 * -1e-30;
    let v6 = single::copysign(v5, v2);
    let v7 = v6 * -0.0;
    let v8 = v7 - v2;
    let v9 = -v2;
    let v10 = single::min(v9, v8);
    u64::from(single::bits(v10))
}

fn p15(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v2 / v0;
    let v4 = single::ceil(v3);
    let v5 = v1 * v4;
    let v6 = v5 * -1e-30;
    let v7 = single::min(v6, v3);
    let v8 = if v3 >= v1 { single::sqrt(single::abs(v7)) } else { single::fma(v4, v6, v7) };
    let v9 = single::max(v8, v7);
    let v10 = single::trunc(v9);
    u64::from(single::bits(v10))
}

fn p16(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = -v1;
    let v4 = v1 * v2;
    let v5 = single::abs(v4);
    let v6 = single::round_even(v0);
    let v7 = single::floor(v5);
    let v8 = single::floor(v3);
    let v9 = if v6 >= v7 { v8 } else { -v1 };
    let v10 = if v3 <= 1.0 { single::abs(v9) } else { single::max(v9, v6) };
    u64::from(single::bits(v10))
}

fn p17(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = single::abs(v0);
    let v4 = single::max(v3, v2);
    let v5 = if v4 >= v0 { v2 } else { -v3 };
    let v6 = if v5 == v1 || v0 != v2 { v3 } else { v4 };
    let v7 = single::copysign(v6, v5);
    let v8 = single::max(v0, v7);
    let v9 = if v3 <= v8 { -v4 } else { single::abs(v7) };
    let v10 = if v5 >= v0 { v3 } else { -v9 };
    u64::from(single::bits(v10))
}

fn p18(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v1 * v0;
    let v4 = single::abs(v3);
    let v5 = if v2 == 1.0 { v4 / v2 } else { single::sqrt(single::abs(v3)) };
    let v6 = single::fma(v0, v5, v2);
    let v7 = single::fma(v4, v6, 0.1);
    let v8 = if v7 >= -1e-30 { v5 } else { -v4 };
    let v9 = v0 * v7;
    let v10 = single::sqrt(v4);
    let end = u64::from(single::bits(v8));
    let end = fold(end, u64::from(single::bits(v9)));
    fold(end, u64::from(single::bits(v10)))
}

fn p19(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits(c as u32);
    let v3 = single::trunc(v2);
    let v4 = single::trunc(v1);
    let v5 = v0 - v4;
    let v6 = if v3 == 1.0 || v5 != v2 { v1 } else { v0 };
    let v7 = v6 / v1;
    let v8 = single::fma(v4, v7, v1);
    let v9 = if v1 >= v8 { v5 } else { -v6 };
    let v10 = v0 * v4;
    let end = u64::from(single::bits(v9));
    fold(end, u64::from(single::bits(v10)))
}

fn p20(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = single::floor(v1);
    let v4 = if v2 != -1.5 { v0 * v3 } else { v1 * 3.0 };
    let v5 = if v4 != 1.0 { single::sqrt(v2) } else { single::fma(v0, v3, v4) };
    let v6 = single::ceil(v3);
    let v7 = single::ceil(v6);
    let v8 = single::fma(v4, v5, v7);
    let v9 = v8 * v4;
    let v10 = single::ceil(v7);
    let end = u64::from(single::bits(v9));
    fold(end, u64::from(single::bits(v10)))
}

fn p21(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = single::round_even(v0);
    let v4 = v0 + 0.0;
    let v5 = single::min(v4, v2);
    let v6 = single::trunc(v1);
    let v7 = if v3 == v6 || v5 != v4 { v1 } else { v0 };
    let v8 = v7 + v4;
    let v9 = if v0 == v8 { v7 * v8 } else { single::fma(v1, v8, v0) };
    let v10 = single::sqrt(v9);
    u64::from(single::bits(v10))
}

fn p22(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits(c as u32);
    let v3 = v0 / v2;
    let v4 = single::ceil(v1);
    let v5 = if v3 < 1e10 { v1 } else { v4 };
    let v6 = single::fma(v5, v4, v1);
    let v7 = single::abs(v6);
    let v8 = -v5;
    let v9 = single::abs(v7);
    let v10 = single::abs(v8);
    let end = u64::from(single::bits(v9));
    fold(end, u64::from(single::bits(v10)))
}

fn p23(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = single::round_even(v2);
    let v4 = v0 * v1;
    let v5 = v3 + v1;
    let v6 = if v0 < v4 { v3 } else { 0.0 };
    let v7 = single::sqrt(v6);
    let v8 = v5 / f32::INFINITY;
    let v9 = v7 + v8;
    let v10 = v1 - v9;
    u64::from(single::bits(v10))
}

fn p24(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = if v1 > v0 { v2 * v1 } else { v1 + v0 };
    let v4 = v3 - v2;
    let v5 = if v4 < v2 { v0 } else { v1 };
    let v6 = single::round_even(v4);
    let v7 = if v5 <= -1.5 { single::fma(v2, v6, v4) } else { single::abs(v0) };
    let v8 = if v7 >= v1 { single::fma(v5, v1, v2) } else { single::max(v0, -1e-30) };
    let v9 = -v8;
    let v10 = if v8 != 1.0 { single::floor(v9) } else { single::sqrt(single::abs(v2)) };
    u64::from(single::bits(v10))
}

fn p25(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = c as i64 as f32;
    let v3 = v2 * v0;
    let v4 = single::abs(v3);
    let v5 = if v1 >= -1e-30 { v3 } else { -v4 };
    let v6 = single::floor(v3);
    let v7 = single::trunc(v0);
    let v8 = v6 / v5;
    let v9 = single::abs(v7);
    let v10 = single::trunc(v9);
    let end = u64::from(single::bits(v8));
    fold(end, u64::from(single::bits(v10)))
}

fn p26(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v2 * 1.0;
    let v4 = v3 + v1;
    let v5 = single::abs(v4);
    let v6 = v5 * v3;
    let v7 = if v0 < v6 { v2 } else { v4 };
    let v8 = if v7 != v5 { v7 + v6 } else { single::fma(v6, v2, -1e-30) };
    let v9 = v8 - v4;
    let v10 = if v9 != v0 { -v9 } else { single::max(v5, v1) };
    u64::from(single::bits(v10))
}

fn p27(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = v2 / v1;
    let v4 = single::sqrt(single::abs(v1));
    let v5 = if v0 >= v2 { single::trunc(v1) } else { v2 * 3.0 };
    let v6 = single::trunc(v5);
    let v7 = -v6;
    let v8 = v3 + v4;
    let v9 = if v8 >= 0.0 { v7 - v1 } else { single::ceil(v8) };
    let v10 = v3 - v9;
    u64::from(single::bits(v10))
}

fn p28(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = single::copysign(v0, v2);
    let v4 = single::min(v1, 1.0);
    let v5 = single::copysign(v4, v3);
    let v6 = single::ceil(v5);
    let v7 = if v6 <= v5 { v5 * 1e10 } else { v4 - v5 };
    let v8 = single::min(v7, f32::MAX);
    let v9 = if v8 < v5 { v3 } else { v1 };
    let v10 = v9 * v4;
    u64::from(single::bits(v10))
}

fn p29(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = b as i64 as f32;
    let v2 = f32::from_bits(c as u32);
    let v3 = single::trunc(v1);
    let v4 = v3 * -0.0;
    let v5 = v2 * 0.1;
    let v6 = v0 * v5;
    let v7 = v6 / 6.5;
    let v8 = v7 + f32::MAX;
    let v9 = single::sqrt(single::abs(v4));
    let v10 = if v2 == v9 || v5 != v8 { v0 } else { v7 };
    u64::from(single::bits(v10))
}

fn p30(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = f32::from_bits(b as u32);
    let v2 = f32::from_bits((c >> 32) as u32);
    let v3 = single::sqrt(v2);
    let v4 = v0 * f32::INFINITY;
    let v5 = single::copysign(v1, v3);
    let v6 = single::sqrt(v5);
    let v7 = single::copysign(v4, 6.5);
    let v8 = v1 + v7;
    let v9 = if v8 < v4 { v7 } else { f32::INFINITY };
    let v10 = if v3 == v1 || v6 != v9 { v8 } else { v4 };
    u64::from(single::bits(v10))
}

fn p31(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits(c as u32);
    let v3 = single::max(v2, v0);
    let v4 = v1 * v3;
    let v5 = single::sqrt(single::abs(v4));
    let v6 = single::floor(v5);
    let v7 = single::fma(v6, 1e10, v4);
    let v8 = v7 * v2;
    let v9 = single::round_even(v7);
    let v10 = single::fma(v9, v7, v8);
    u64::from(single::bits(v10))
}
