//! Integers of 8 and 16 bits. Written by `cargo xtask build-ptx`.

use super::fold;

/// How many programs there are.
pub(crate) const COUNT: u32 = 34;

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
        32 => p32(a, b, c),
        33 => p33(a, b, c),
        _ => 0,
    }
}

fn p0(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u16;
    let v1 = b as i8;
    let v2 = (c >> 45) as u16;
    let v3 = v1 as u16;
    let v4 = if v1 == -1 { v0.abs_diff(0x7d79) as u16 } else { v2.checked_mul(v3).unwrap_or(v0) };
    let v5 = v4 ^ 12;
    let v6 = v5.min(0xeb3);
    let v7 = v1.wrapping_sub(-58);
    let v8 = v7.checked_rem(i8::MAX >> 3).unwrap_or(v1);
    let v9 = v8.signum();
    let end = v6 as u64;
    fold(end, v9 as u64)
}

fn p1(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = b as i16;
    let v2 = c as i16;
    let v3 = v2.wrapping_add(v1);
    let v4 = v0.checked_shr(v3 as u32).unwrap_or(v3);
    let v5 = v4.wrapping_add(v0);
    let v6 = v5.count_ones() as i16;
    let v7 = if v0 < v6 { v2.rotate_right(4) } else { v1.saturating_sub(v3) };
    let v8 = v7.checked_sub(v3).unwrap_or(v1);
    let v9 = v8.checked_sub(v7).unwrap_or(v2);
    v9 as u64
}

fn p2(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 43) as i16;
    let v1 = (b >> 20) as u8;
    let v2 = c as i16;
    let v3 = i16::from(v0 < v2);
    let v4 = v1.wrapping_div_euclid(v1 | 1);
    let v5 = v3.wrapping_abs();
    let v6 = v5.signum();
    let v7 = v4 ^ v1;
    let v8 = v6.checked_rem(v2).unwrap_or(v3);
    let v9 = v7.wrapping_neg();
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p3(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 6) as i16;
    let v1 = b as u8;
    let v2 = c as i16;
    let v3 = if v0 < v2 { 14 } else { v2 };
    let v4 = v1.swap_bytes();
    let v5 = v3.leading_ones() as i16;
    let v6 = v5.checked_shl(v4 as u32 & 127).unwrap_or(v2);
    let v7 = v4.unbounded_shr(v1 as u32 & 63);
    let v8 = v7.rotate_left(v6 as u32);
    let v9 = v8.wrapping_div(v4 | 1);
    v9 as u64
}

fn p4(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 18) as i8;
    let v1 = b as i8;
    let v2 = c as u16;
    let v3 = v0.wrapping_abs();
    let v4 = v2.rotate_right(v1 as u32);
    let v5 = v4.wrapping_mul(v2);
    let v6 = u16::from(v5 == v2);
    let v7 = v3.wrapping_abs();
    let v8 = if v7 != v3 { v0.trailing_zeros() as i8 } else { v1 | v0 };
    let v9 = v6.saturating_add(v5);
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p5(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = (b >> 10) as i16;
    let v2 = c as i16;
    let v3 = i16::from(v2.overflowing_mul(v0).1);
    let v4 = v3.saturating_mul(0x5122);
    let v5 = i16::from(v3 == v1);
    let v6 = v4.checked_div(15).unwrap_or(v5);
    let v7 = v0.count_ones() as i16;
    let v8 = v7.reverse_bits();
    let v9 = v8.wrapping_sub(14);
    let end = v6 as u64;
    fold(end, v9 as u64)
}

fn p6(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 26) as u8;
    let v1 = b as i16;
    let v2 = c as i16;
    let v3 = v0.reverse_bits();
    let v4 = v1.checked_shl(v3 as u32 & 31).unwrap_or(v2);
    let v5 = v4 as u8;
    let v6 = v5 ^ v3;
    let v7 = v4.unbounded_shl(v1 as u32);
    let v8 = v0.wrapping_rem_euclid(v6 | 1);
    let v9 = v8.unbounded_shl(v0 as u32);
    let end = v7 as u64;
    fold(end, v9 as u64)
}

fn p7(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u8;
    let v1 = (b >> 12) as u16;
    let v2 = (c >> 11) as u8;
    let v3 = v1.reverse_bits();
    let v4 = if v2 < v0 { v1.wrapping_pow(3) } else { v3.wrapping_shl(v2 as u32) };
    let v5 = if v2 >= v0 { v2 } else { !v0 };
    let v6 = v4.abs_diff(v1) as u16;
    let v7 = v0.unbounded_shl(v3 as u32 & 15);
    let v8 = u16::from(v6.overflowing_mul(v1).1);
    let v9 = u8::from(v7 == v5);
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p8(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i8;
    let v1 = b as u8;
    let v2 = c as i8;
    let v3 = v1.saturating_add(0x93);
    let v4 = if v2 < v0 { 0x2d } else { v2 };
    let v5 = v3.wrapping_shl(v4 as u32);
    let v6 = v5.max(v3);
    let v7 = u8::from(v6.overflowing_sub(v3).1);
    let v8 = v7.wrapping_mul(v1);
    let v9 = if v1 <= v8 { v2.wrapping_mul(0x3b) } else { v4.wrapping_rem_euclid(v2 | 1) };
    v9 as u64
}

fn p9(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 40) as i8;
    let v1 = b as i8;
    let v2 = c as i8;
    let v3 = if v0 < v1 { v2.wrapping_rem(v1 | 1) } else { v2.wrapping_neg() };
    let v4 = i8::from(v3 < v1);
    let v5 = v4.swap_bytes();
    let v6 = v5.checked_mul(v0).unwrap_or(v1);
    let v7 = if v6 == v4 { !v4 } else { v5.checked_mul(v2).unwrap_or(v3) };
    let v8 = i8::from(v7.overflowing_mul(v2).1);
    let v9 = if v4 >= v8 { v6.swap_bytes() } else { v3 | v2 };
    v9 as u64
}

fn p10(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i8;
    let v1 = (b >> 16) as i8;
    let v2 = c as i8;
    let v3 = v0.wrapping_pow(3);
    let v4 = v3.wrapping_div_euclid(v2 | 1);
    let v5 = if v4 == 0 { v4.wrapping_neg() } else { i8::from(v1 == i8::MAX >> 6) };
    let v6 = v5.swap_bytes();
    let v7 = if v6 < -60 { !v3 } else { v0.wrapping_mul(v5) };
    let v8 = v7 | v3;
    let v9 = !v8;
    v9 as u64
}

fn p11(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i8;
    let v1 = (b >> 23) as u16;
    let v2 = (c >> 9) as u16;
    let v3 = v1.wrapping_pow(3);
    let v4 = v0.unsigned_abs() as i8;
    let v5 = v4.checked_mul(v0).unwrap_or(5);
    let v6 = v4.checked_sub(14).unwrap_or(v5);
    let v7 = v3.wrapping_neg();
    let v8 = v2.checked_sub(v7).unwrap_or(v3);
    let v9 = if v6 < v0 { 0x72 } else { v5 };
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p12(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u8;
    let v1 = b as u8;
    let v2 = c as u8;
    let v3 = v0 as i8;
    let v4 = i8::from(v3 == i8::MAX >> 2);
    let v5 = v2.count_ones() as u8;
    let v6 = v5.wrapping_neg();
    let v7 = v6 & v0;
    let v8 = v4.unsigned_abs() as i8;
    let v9 = i8::from(v8.overflowing_mul(-23).1);
    let end = v1 as u64;
    let end = fold(end, v7 as u64);
    fold(end, v9 as u64)
}

fn p13(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u16;
    let v1 = b as u16;
    let v2 = c as u16;
    let v3 = v1 as u8;
    let v4 = u8::from(v3 == u8::MIN);
    let v5 = u8::from(v4.overflowing_sub(v3).1);
    let v6 = v1.wrapping_rem_euclid(v0 | 1);
    let v7 = !v2;
    let v8 = v6 | v7;
    let v9 = v5.saturating_sub(v3);
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p14(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = (b >> 19) as u16;
    let v2 = c as i16;
    let v3 = v1.max(u16::MIN);
    let v4 = v2.wrapping_mul(v0);
    let v5 = v0.saturating_add(i16::MIN);
    let v6 = v5.saturating_add(v4);
    let v7 = v6 ^ v0;
    let v8 = v7.wrapping_add(v5);
    let v9 = v3 as i16;
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p15(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 7) as i8;
    let v1 = b as i8;
    let v2 = (c >> 16) as i16;
    let v3 = v1.rotate_right(v2 as u32);
    let v4 = v2.swap_bytes();
    let v5 = if v4 <= 1 { v0.reverse_bits() } else { v3.signum() };
    let v6 = v5.saturating_mul(-14);
    let v7 = if v6 < 1 { v5.max(i8::MAX) } else { i8::from(v1.overflowing_sub(v3).1) };
    let v8 = v7.wrapping_abs();
    let v9 = v8.abs_diff(v6) as i8;
    v9 as u64
}

fn p16(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = b as i16;
    let v2 = (c >> 2) as i16;
    let v3 = v1 as i8;
    let v4 = v3.wrapping_shr(v3 as u32 & 127);
    let v5 = v3.checked_div(v4).unwrap_or(v4);
    let v6 = v5.wrapping_rem(v3 | 1);
    let v7 = v2 | v0;
    let v8 = v6.wrapping_div_euclid(v4 | 1);
    let v9 = v2.checked_div(v7).unwrap_or(v0);
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p17(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = b as i8;
    let v2 = c as i8;
    let v3 = v1.checked_shr(v2 as u32 & 15).unwrap_or(v2);
    let v4 = v2.checked_shr(v0 as u32).unwrap_or(v3);
    let v5 = v4.saturating_sub(v1);
    let v6 = if v0 == -60 { i16::from(v0.overflowing_mul(1).1) } else { v0.saturating_sub(7) };
    let v7 = v6 as i8;
    let v8 = v5 & v7;
    let v9 = v8.min(v4);
    v9 as u64
}

fn p18(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u8;
    let v1 = b as i8;
    let v2 = c as i8;
    let v3 = v1.wrapping_rem(v2 | 1);
    let v4 = i8::from(v1 == v3);
    let v5 = v0.wrapping_shr(v4 as u32 & 7);
    let v6 = v3.checked_shr(v5 as u32).unwrap_or(i8::MAX >> 2);
    let v7 = v6.wrapping_abs();
    let v8 = if v0 >= u8::MAX >> 4 { v0.trailing_zeros() as u8 } else { v5.wrapping_shr(v7 as u32) };
    let v9 = if v2 < -60 { v8.checked_rem(v0).unwrap_or(v5) } else { v5.saturating_add(v8) };
    v9 as u64
}

fn p19(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u8;
    let v1 = b as u16;
    let v2 = c as u8;
    let v3 = v1.checked_shl(v1 as u32 & 15).unwrap_or(0x3423);
    let v4 = v1.count_ones() as u16;
    let v5 = v0.swap_bytes();
    let v6 = v5.wrapping_sub(v2);
    let v7 = v4.trailing_zeros() as u16;
    let v8 = v5.leading_zeros() as u8;
    let v9 = u16::from(v7 < u16::MAX);
    let end = v3 as u64;
    let end = fold(end, v6 as u64);
    let end = fold(end, v8 as u64);
    fold(end, v9 as u64)
}

fn p20(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 39) as u16;
    let v1 = (b >> 47) as i16;
    let v2 = c as u16;
    let v3 = v1.wrapping_neg();
    let v4 = if v3 < 1 { v0.wrapping_sub(v2) } else { v0.rotate_left(v0 as u32) };
    let v5 = !v4;
    let v6 = if v2 >= 0x50d9 { v5 } else { !v0 };
    let v7 = v3.wrapping_sub(v1);
    let v8 = if v7 == 25 { v1.leading_zeros() as i16 } else { v1.checked_div(15).unwrap_or(v3) };
    let v9 = v8.wrapping_div(v3 | 1);
    let end = v6 as u64;
    fold(end, v9 as u64)
}

fn p21(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u8;
    let v1 = (b >> 15) as u8;
    let v2 = c as u8;
    let v3 = if v2 != v1 { v0.wrapping_rem_euclid(v2 | 1) } else { v2.reverse_bits() };
    let v4 = v3.checked_rem(v2).unwrap_or(v0);
    let v5 = v4.wrapping_rem(v1 | 1);
    let v6 = v5.wrapping_shr(v0 as u32);
    let v7 = if v6 >= v2 { v6.wrapping_sub(7) } else { v4.wrapping_div(v3 | 1) };
    let v8 = v7.wrapping_div(v6 | 1);
    let v9 = v8.wrapping_add(v7);
    v9 as u64
}

fn p22(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = b as u16;
    let v2 = (c >> 30) as u16;
    let v3 = v0.wrapping_add(9);
    let v4 = v2.wrapping_pow(3);
    let v5 = v0.wrapping_shl(55);
    let v6 = v1.wrapping_mul(v4);
    let v7 = v3.wrapping_add(i16::MAX);
    let v8 = u16::from(v6.overflowing_add(v4).1);
    let v9 = v8.unbounded_shl(v3 as u32 & 127);
    let end = v5 as u64;
    let end = fold(end, v7 as u64);
    fold(end, v9 as u64)
}

fn p23(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i8;
    let v1 = b as i8;
    let v2 = (c >> 41) as i8;
    let v3 = i8::from(v0 < v1);
    let v4 = v0.abs_diff(v2) as i8;
    let v5 = v3.wrapping_rem(v4 | 1);
    let v6 = v3.wrapping_shl(v5 as u32);
    let v7 = i8::from(v6 == v4);
    let v8 = v7.unbounded_shr(v3 as u32);
    let v9 = v8.wrapping_div_euclid(v6 | 1);
    v9 as u64
}

fn p24(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = (b >> 8) as i16;
    let v2 = (c >> 19) as i16;
    let v3 = v0.checked_rem(v2).unwrap_or(v1);
    let v4 = v3.rotate_right(v0 as u32 & 7);
    let v5 = if v4 <= 25 { v1.wrapping_abs() } else { v1.wrapping_mul(v3) };
    let v6 = v5 | v3;
    let v7 = v6.wrapping_shl(41);
    let v8 = if v6 >= v7 { v1 } else { !v4 };
    let v9 = v8.wrapping_add(v1);
    v9 as u64
}

fn p25(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 16) as u16;
    let v1 = b as u16;
    let v2 = c as u16;
    let v3 = u16::from(v2.overflowing_sub(v1).1);
    let v4 = v3.wrapping_add(v0);
    let v5 = v3.rotate_right(62);
    let v6 = v3.wrapping_shl(v1 as u32);
    let v7 = v5.wrapping_pow(3);
    let v8 = v6.checked_shl(v7 as u32 & 7).unwrap_or(v4);
    let v9 = v2.count_ones() as u16;
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p26(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = b as i8;
    let v2 = (c >> 10) as i8;
    let v3 = v0.swap_bytes();
    let v4 = v1.reverse_bits();
    let v5 = v3.unbounded_shr(v0 as u32);
    let v6 = v3.checked_shr(v3 as u32).unwrap_or(v5);
    let v7 = if v6 > 1 { v0.saturating_mul(v3) } else { v6.wrapping_rem_euclid(v3 | 1) };
    let v8 = v7.wrapping_pow(3);
    let v9 = v8.wrapping_shl(v4 as u32 & 7);
    let end = v2 as u64;
    fold(end, v9 as u64)
}

fn p27(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 19) as u8;
    let v1 = b as u16;
    let v2 = (c >> 14) as u8;
    let v3 = v1.count_ones() as u16;
    let v4 = v2.checked_mul(v0).unwrap_or(u8::MIN);
    let v5 = v3.abs_diff(u16::MAX) as u16;
    let v6 = if v3 <= u16::MAX >> 4 { v2.min(v0) } else { u8::from(v4.overflowing_add(0x24).1) };
    let v7 = v4.swap_bytes();
    let v8 = v4.wrapping_shl(v6 as u32 & 7);
    let v9 = v7.saturating_add(v8);
    let end = v5 as u64;
    fold(end, v9 as u64)
}

fn p28(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i8;
    let v1 = (b >> 50) as i8;
    let v2 = c as u8;
    let v3 = v0.trailing_zeros() as i8;
    let v4 = v2.leading_ones() as u8;
    let v5 = v4.trailing_zeros() as u8;
    let v6 = if v0 >= v3 { v1 } else { !v3 };
    let v7 = v6.rotate_left(v5 as u32 & 7);
    let v8 = v2.saturating_sub(0xe6);
    let v9 = if v7 <= 25 { i8::from(v0 < v7) } else { i8::from(v6 == v0) };
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p29(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 5) as u16;
    let v1 = b as u16;
    let v2 = c as u16;
    let v3 = v1.wrapping_rem_euclid(v0 | 1);
    let v4 = v2.unbounded_shr(v2 as u32 & 31);
    let v5 = v4.wrapping_rem(v0 | 1);
    let v6 = v3.reverse_bits();
    let v7 = v6.checked_div(v5).unwrap_or(v1);
    let v8 = v7.leading_zeros() as u16;
    let v9 = v4.wrapping_div_euclid(v8 | 1);
    v9 as u64
}

fn p30(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 7) as u16;
    let v1 = b as i8;
    let v2 = (c >> 33) as i8;
    let v3 = v0.wrapping_shr(v1 as u32 & 15);
    let v4 = i8::from(v2.overflowing_mul(v1).1);
    let v5 = v4.wrapping_rem_euclid(v2 | 1);
    let v6 = if v5 < v2 { v3.wrapping_div_euclid(v0 | 1) } else { v0.wrapping_mul(v3) };
    let v7 = v1.trailing_zeros() as i8;
    let v8 = v2.wrapping_rem(v7 | 1);
    let v9 = v6.wrapping_div(v3 | 1);
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p31(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 33) as u16;
    let v1 = (b >> 33) as u16;
    let v2 = c as u16;
    let v3 = v0.unbounded_shr(v2 as u32);
    let v4 = v1.checked_shr(v2 as u32 & 127).unwrap_or(v3);
    let v5 = v2 & 0x243;
    let v6 = if v1 < u16::MAX >> 4 { v4.checked_mul(v2).unwrap_or(10) } else { v4.leading_zeros() as u16 };
    let v7 = v6.saturating_mul(u16::MIN);
    let v8 = v5 ^ v7;
    let v9 = v3.checked_div(v8).unwrap_or(v6);
    v9 as u64
}

fn p32(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i8;
    let v1 = b as u8;
    let v2 = c as u8;
    let v3 = v1.wrapping_rem(v2 | 1);
    let v4 = u8::from(v3 == v1);
    let v5 = if v0 == -60 { v2.wrapping_mul(0xe7) } else { v4.saturating_add(v2) };
    let v6 = v0.wrapping_rem_euclid(v0 | 1);
    let v7 = v3.wrapping_rem_euclid(v5 | 1);
    let v8 = if v0 > v6 { v0.saturating_add(v6) } else { v0.wrapping_add(11) };
    let v9 = v4.max(0xf8);
    let end = v7 as u64;
    let end = fold(end, v8 as u64);
    fold(end, v9 as u64)
}

fn p33(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i8;
    let v1 = b as u16;
    let v2 = c as i8;
    let v3 = v2.saturating_sub(1);
    let v4 = v1.abs_diff(13) as u16;
    let v5 = v4.checked_mul(v1).unwrap_or(0x3024);
    let v6 = v5.checked_div(v4).unwrap_or(v1);
    let v7 = v6.checked_div(v1).unwrap_or(v4);
    let v8 = i8::from(v3.overflowing_mul(v0).1);
    let v9 = v8.checked_sub(v2).unwrap_or(i8::MAX >> 3);
    let end = v7 as u64;
    fold(end, v9 as u64)
}
