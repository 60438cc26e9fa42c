//! Integers of 32 and 64 bits. Written by `cargo xtask build-ptx`.

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
    let v0 = a as u32;
    let v1 = (b >> 27) as u32;
    let v2 = c as u32;
    let v3 = if v2 > v0 { v1.trailing_zeros() as u32 } else { v2.wrapping_rem_euclid(v1 | 1) };
    let v4 = if v1 <= u32::MAX >> 1 { v2.wrapping_sub(v3) } else { v1.saturating_sub(0xfe3fa633) };
    let v5 = if v3 == u32::MAX >> 14 { v4.wrapping_rem(v2 | 1) } else { v1.saturating_mul(v0) };
    let v6 = v2.swap_bytes();
    let v7 = u32::from(v5 < v0);
    let v8 = v6.wrapping_mul(v7);
    let v9 = if v4 >= u32::MAX >> 10 { v8.wrapping_shr(39) } else { v5.saturating_sub(v3) };
    v9 as u64
}

fn p1(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = u64::from(v0.overflowing_add(v2).1);
    let v4 = v0 | 0xfc2b4ba8165a3aae;
    let v5 = v3.wrapping_div(v2 | 1);
    let v6 = v5.wrapping_add(v0);
    let v7 = v4.max(u64::MIN);
    let v8 = v7.checked_div(v1).unwrap_or(v6);
    let v9 = if v8 >= v5 { v5.min(v4) } else { v2.wrapping_shl(v4 as u32 & 127) };
    v9
}

fn p2(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = v2 as u32;
    let v4 = v1.saturating_add(u64::MIN);
    let v5 = v3.wrapping_div_euclid(v3 | 1);
    let v6 = v5.abs_diff(v3) as u32;
    let v7 = v0.max(u64::MAX >> 30);
    let v8 = u32::from(v6 == v5);
    let v9 = u64::from(v4.overflowing_mul(v2).1);
    let end = v7;
    let end = fold(end, v8 as u64);
    fold(end, v9)
}

fn p3(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c as u32;
    let v3 = v1.wrapping_shr(v1 as u32);
    let v4 = u32::from(v2.overflowing_mul(0x560112c3).1);
    let v5 = v4.saturating_mul(v2);
    let v6 = v2 as u64;
    let v7 = v5.wrapping_mul(v2);
    let v8 = if v4 < v7 { v2 } else { v5 };
    let v9 = v6.reverse_bits();
    let end = v0;
    let end = fold(end, v3);
    let end = fold(end, v8 as u64);
    fold(end, v9)
}

fn p4(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = v1.wrapping_div(v0 | 1);
    let v4 = v3.reverse_bits();
    let v5 = v4.checked_div(0xa669dc228ee40d6e).unwrap_or(v2);
    let v6 = v5.wrapping_rem(v2 | 1);
    let v7 = v6.trailing_zeros() as u64;
    let v8 = v7.unbounded_shr(v7 as u32 & 15);
    let v9 = v5.wrapping_mul(v8);
    v9
}

fn p5(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i64;
    let v2 = c as i64;
    let v3 = v0 as i32;
    let v4 = v3 ^ 1;
    let v5 = if v1 <= -60 { v2.wrapping_rem(v0 | 1) } else { v2.checked_sub(v1).unwrap_or(v0) };
    let v6 = v5.wrapping_abs();
    let v7 = v6.trailing_zeros() as i64;
    let v8 = v7.checked_shl(v4 as u32).unwrap_or(i64::MIN);
    let v9 = v4.rotate_right(v3 as u32 & 63);
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p6(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = v0.leading_zeros() as u64;
    let v4 = v3.leading_ones() as u64;
    let v5 = v1.checked_shr(v2 as u32 & 31).unwrap_or(v4);
    let v6 = v1.wrapping_shr(v4 as u32 & 7);
    let v7 = v6.rotate_right(v3 as u32);
    let v8 = v2.leading_ones() as u64;
    let v9 = v5.leading_zeros() as u64;
    let end = v7;
    let end = fold(end, v8);
    fold(end, v9)
}

fn p7(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as u32;
    let v2 = c as i64;
    let v3 = if v1 > u32::MAX >> 15 { v0.unbounded_shr(v1) } else { v2.checked_shr(v2 as u32).unwrap_or(v0) };
    let v4 = v0.wrapping_rem(v3 | 1);
    let v5 = v4.checked_mul(v3).unwrap_or(6);
    let v6 = if v5 != v2 { v2.abs_diff(5) as i64 } else { v3.checked_div(v4).unwrap_or(v2) };
    let v7 = v4.wrapping_neg();
    let v8 = v1.checked_mul(u32::MAX).unwrap_or(u32::MAX);
    let v9 = v8.wrapping_rem(v1 | 1);
    let end = v6 as u64;
    let end = fold(end, v7 as u64);
    fold(end, v9 as u64)
}

fn p8(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u32;
    let v1 = (b >> 23) as u32;
    let v2 = c as u32;
    let v3 = if v0 > v2 { v1.wrapping_div_euclid(v2 | 1) } else { v2.saturating_mul(v1) };
    let v4 = v3.leading_ones() as u32;
    let v5 = if v0 >= v4 { v2 } else { !v1 };
    let v6 = v3.unbounded_shr(v4);
    let v7 = v5.saturating_sub(0x87088c);
    let v8 = u32::from(v7 < u32::MAX);
    let v9 = if v8 >= v6 { v6.saturating_mul(v2) } else { v0.wrapping_sub(v4) };
    v9 as u64
}

fn p9(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b as u32;
    let v2 = c;
    let v3 = v1.checked_shl(v1 & 63).unwrap_or(0x276b0032);
    let v4 = v2 as u32;
    let v5 = v1 | v4;
    let v6 = if v0 < v2 { v2.wrapping_neg() } else { v2.wrapping_rem_euclid(v0 | 1) };
    let v7 = v6.min(v0);
    let v8 = v5.checked_add(v3).unwrap_or(v4);
    let v9 = v0.min(v7);
    let end = v8 as u64;
    fold(end, v9)
}

fn p10(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = b;
    let v2 = c as i32;
    let v3 = v1.wrapping_div(v1 | 1);
    let v4 = v3 & v1;
    let v5 = v2.rotate_right(v1 as u32 & 15);
    let v6 = if v5 >= v0 { v2 } else { !v2 };
    let v7 = v1.checked_div(v4).unwrap_or(v3);
    let v8 = if v7 < u64::MAX >> 7 { v6.wrapping_div(v0 | 1) } else { v2.unsigned_abs() as i32 };
    let v9 = if v8 >= v5 { v0 } else { !v2 };
    v9 as u64
}

fn p11(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i64;
    let v2 = c as i64;
    let v3 = v1.min(v2);
    let v4 = !v3;
    let v5 = v3.checked_rem(10).unwrap_or(v4);
    let v6 = v1.checked_mul(v2).unwrap_or(v5);
    let v7 = v6.checked_rem(v2).unwrap_or(v0);
    let v8 = v6.saturating_add(0x7b4efd2749eb9728);
    let v9 = if v0 < v7 { v5 } else { v8 };
    v9 as u64
}

fn p12(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i64;
    let v2 = c as i64;
    let v3 = v0 as u64;
    let v4 = v3.wrapping_mul(u64::MIN);
    let v5 = v2.count_ones() as i64;
    let v6 = v5.checked_mul(v2).unwrap_or(15);
    let v7 = i64::from(v5.overflowing_add(-51).1);
    let v8 = v3.swap_bytes();
    let v9 = if v7 >= v2 { v1 } else { !v6 };
    let end = v4;
    let end = fold(end, v8);
    fold(end, v9 as u64)
}

fn p13(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = b as i32;
    let v2 = c;
    let v3 = if v0 < v1 { -8 } else { v1 };
    let v4 = v2.wrapping_div_euclid(v2 | 1);
    let v5 = v4 | v2;
    let v6 = v3.checked_mul(v0).unwrap_or(0x5cf2f5c7);
    let v7 = v4.wrapping_mul(u64::MAX);
    let v8 = v6.saturating_add(v0);
    let v9 = if v5 < v7 { v4 } else { v2 };
    let end = v8 as u64;
    fold(end, v9)
}

fn p14(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = v2.wrapping_shr(35);
    let v4 = v3 | v0;
    let v5 = v1.checked_sub(v3).unwrap_or(v4);
    let v6 = if v0 != u64::MAX >> 21 { v5.wrapping_div(v0 | 1) } else { v0.saturating_mul(v3) };
    let v7 = v3 & 9;
    let v8 = v0.wrapping_div(v6 | 1);
    let v9 = v2.checked_mul(v1).unwrap_or(6);
    let end = v7;
    let end = fold(end, v8);
    fold(end, v9)
}

fn p15(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = (b >> 17) as i32;
    let v2 = c as i64;
    let v3 = v0.unsigned_abs() as i32;
    let v4 = if v2 > 0 { v1.signum() } else { i32::from(v3.overflowing_mul(i32::MAX).1) };
    let v5 = v0.rotate_left(v2 as u32 & 63);
    let v6 = v2.checked_shr(v2 as u32).unwrap_or(0x123c8efe1703188a);
    let v7 = v6.checked_rem(i64::MAX).unwrap_or(v2);
    let v8 = v6.leading_ones() as i64;
    let v9 = v5.checked_shl(v6 as u32 & 31).unwrap_or(v4);
    let end = v7 as u64;
    let end = fold(end, v8 as u64);
    fold(end, v9 as u64)
}

fn p16(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = if v2 >= v1 { u64::from(v1.overflowing_mul(v0).1) } else { v2.wrapping_neg() };
    let v4 = v3.reverse_bits();
    let v5 = u64::from(v3.overflowing_sub(v4).1);
    let v6 = u64::from(v5.overflowing_sub(4).1);
    let v7 = v6.wrapping_div(v2 | 1);
    let v8 = v7.checked_mul(4).unwrap_or(0x7af654dcb0257da0);
    let v9 = if v8 <= u64::MAX >> 3 { v2.saturating_add(v7) } else { v3.wrapping_rem_euclid(v1 | 1) };
    v9
}

fn p17(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 28) as i32;
    let v1 = (b >> 25) as i32;
    let v2 = c as u32;
    let v3 = v2.wrapping_add(0x776c7835);
    let v4 = v3.checked_mul(u32::MAX).unwrap_or(v2);
    let v5 = v4 as i32;
    let v6 = if v1 < v0 { i32::MIN } else { v5 };
    let v7 = v3 & v2;
    let v8 = !v6;
    let v9 = v8 as u32;
    let end = v7 as u64;
    fold(end, v9 as u64)
}

fn p18(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = (b >> 17) as i32;
    let v2 = (c >> 5) as i32;
    let v3 = v0.signum();
    let v4 = v2.checked_shr(v3 as u32).unwrap_or(v1);
    let v5 = if v0 < v3 { 3 } else { v0 };
    let v6 = v4.trailing_zeros() as i32;
    let v7 = if v5 < -60 { v0.abs_diff(v3) as i64 } else { v0.checked_mul(v3).unwrap_or(v5) };
    let v8 = if v0 <= v7 { v6.leading_zeros() as i32 } else { v6.wrapping_shr(v0 as u32) };
    let v9 = v0.signum();
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p19(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = b as i32;
    let v2 = c as i32;
    let v3 = if v1 < v0 { i32::from(v2.overflowing_add(v1).1) } else { v2.wrapping_add(v0) };
    let v4 = i32::from(v3.overflowing_add(v2).1);
    let v5 = v4.rotate_left(v4 as u32 & 15);
    let v6 = v5 ^ v3;
    let v7 = v6.wrapping_pow(3);
    let v8 = v7.wrapping_rem_euclid(v6 | 1);
    let v9 = if v8 < v5 { i32::MIN } else { v1 };
    v9 as u64
}

fn p20(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 3) as u32;
    let v1 = b as u32;
    let v2 = c as u32;
    let v3 = v1 as u64;
    let v4 = if v0 < v2 { v1.wrapping_rem_euclid(v0 | 1) } else { v1.saturating_sub(v0) };
    let v5 = v4.saturating_mul(v0);
    let v6 = v3.wrapping_neg();
    let v7 = !v6;
    let v8 = v7.checked_div(v6).unwrap_or(v3);
    let v9 = v8.wrapping_rem(v7 | 1);
    let end = v5 as u64;
    fold(end, v9)
}

fn p21(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i64;
    let v2 = c as i64;
    let v3 = i64::from(v0.overflowing_sub(5).1);
    let v4 = v1.max(0x32ece070d71b07a1);
    let v5 = v2.checked_div(v4).unwrap_or(v3);
    let v6 = v5.wrapping_sub(2);
    let v7 = v6.checked_add(v0).unwrap_or(v5);
    let v8 = v7.wrapping_shr(v2 as u32 & 31);
    let v9 = v5.wrapping_shl(v7 as u32 & 63);
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p22(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = v0.wrapping_add(v2);
    let v4 = v0.checked_shr(18).unwrap_or(u64::MAX >> 5);
    let v5 = v1.abs_diff(u64::MAX >> 29) as u64;
    let v6 = v5 as i64;
    let v7 = v6 & 15;
    let v8 = u64::from(v4 < v1);
    let v9 = if v8 >= v3 { v1 } else { !v2 };
    let end = v7 as u64;
    fold(end, v9)
}

fn p23(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b as i64;
    let v2 = c as i64;
    let v3 = v0.checked_rem(0xcf953709309b335).unwrap_or(v0);
    let v4 = v3.wrapping_shl(v3 as u32);
    let v5 = v4.saturating_add(v0);
    let v6 = v2.wrapping_rem_euclid(v1 | 1);
    let v7 = v2.swap_bytes();
    let v8 = v4.wrapping_add(v5);
    let v9 = v7.checked_mul(i64::MAX >> 3).unwrap_or(v6);
    let end = v8;
    fold(end, v9 as u64)
}

fn p24(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i64;
    let v2 = c as i64;
    let v3 = v0.wrapping_shr(42);
    let v4 = v3.checked_shl(v2 as u32 & 15).unwrap_or(v1);
    let v5 = v4.checked_shl(v3 as u32 & 15).unwrap_or(v2);
    let v6 = v2.wrapping_neg();
    let v7 = v5.checked_rem(0x750ac0691ee4f7e0).unwrap_or(v6);
    let v8 = v7.signum();
    let v9 = v7.wrapping_mul(v8);
    v9 as u64
}

fn p25(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c as i32;
    let v3 = v2.reverse_bits();
    let v4 = v0.saturating_add(v1);
    let v5 = v4 | v1;
    let v6 = u64::from(v5 == v0);
    let v7 = v3.count_ones() as i32;
    let v8 = if v6 >= v4 { v0 } else { !v5 };
    let v9 = v3 ^ v7;
    let end = v8;
    fold(end, v9 as u64)
}

fn p26(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i64;
    let v2 = c;
    let v3 = i64::from(v0 < v1);
    let v4 = v2.count_ones() as u64;
    let v5 = if v2 >= 0xddc249e93e0fbc42 { v4 } else { !v2 };
    let v6 = v3.wrapping_div_euclid(v1 | 1);
    let v7 = v0.saturating_mul(0x4ea299759eebbf6a);
    let v8 = if v6 > v7 { v5 | v4 } else { v5.max(v2) };
    let v9 = !v8;
    v9
}

fn p27(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 30) as i32;
    let v1 = b as u32;
    let v2 = c as u32;
    let v3 = v0.count_ones() as i32;
    let v4 = v2.wrapping_sub(v1);
    let v5 = v3.abs_diff(v0) as i32;
    let v6 = if v3 != 0 { v4.wrapping_shr(v2 & 63) } else { v4.wrapping_neg() };
    let v7 = if v5 == v0 { v6.wrapping_rem_euclid(v4 | 1) } else { v1.checked_mul(v2).unwrap_or(15) };
    let v8 = v7.checked_mul(v6).unwrap_or(v1);
    let v9 = v8.checked_rem(v2).unwrap_or(v1);
    v9 as u64
}

fn p28(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = b as i32;
    let v2 = c as i64;
    let v3 = v1.unbounded_shl(v1 as u32 & 127);
    let v4 = v3.wrapping_add(v1);
    let v5 = v3 as i64;
    let v6 = v2.unbounded_shr(v5 as u32);
    let v7 = v3.wrapping_rem(v0 | 1);
    let v8 = if v7 >= v4 { v1 } else { !v0 };
    let v9 = v6.leading_ones() as i64;
    let end = v8 as u64;
    fold(end, v9 as u64)
}

fn p29(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let v3 = v0 as u32;
    let v4 = v3 as u64;
    let v5 = v3.wrapping_div_euclid(v3 | 1);
    let v6 = v1.unbounded_shr(v5 & 63);
    let v7 = !v2;
    let v8 = v5.wrapping_rem(v3 | 1);
    let v9 = v8.checked_shl(v8 & 31).unwrap_or(v5);
    let end = v4;
    let end = fold(end, v6);
    let end = fold(end, v7);
    fold(end, v9 as u64)
}

fn p30(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = (b >> 9) as i32;
    let v2 = c as i32;
    let v3 = i32::from(v0 == i32::MIN);
    let v4 = v2.reverse_bits();
    let v5 = if v4 > v3 { v0.checked_div(4).unwrap_or(v3) } else { i32::from(v1.overflowing_mul(v3).1) };
    let v6 = v5.unsigned_abs() as i32;
    let v7 = v6.swap_bytes();
    let v8 = if v7 >= v2 { v1 } else { !v4 };
    let v9 = v8.leading_ones() as i32;
    v9 as u64
}

fn p31(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 31) as i32;
    let v1 = (b >> 13) as i32;
    let v2 = c as i32;
    let v3 = v0.checked_rem(v2).unwrap_or(v1);
    let v4 = v0 as i64;
    let v5 = v4.leading_zeros() as i64;
    let v6 = v3.unsigned_abs() as i32;
    let v7 = v4.wrapping_rem(v5 | 1);
    let v8 = v7.max(0x5d7834c22043837b);
    let v9 = v7.min(v8);
    let end = v6 as u64;
    fold(end, v9 as u64)
}

fn p32(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 4) as i32;
    let v1 = b as i64;
    let v2 = (c >> 13) as i32;
    let v3 = v0.wrapping_div_euclid(v2 | 1);
    let v4 = v1.wrapping_rem(v1 | 1);
    let v5 = if v3 < -1 { v3.wrapping_add(v0) } else { v3 ^ v2 };
    let v6 = v3 as i64;
    let v7 = v5.wrapping_add(9);
    let v8 = v6.min(v4);
    let v9 = v1.wrapping_div(v8 | 1);
    let end = v7 as u64;
    fold(end, v9 as u64)
}

fn p33(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = b as i64;
    let v2 = c as i64;
    let v3 = v1.wrapping_div(v2 | 1);
    let v4 = v3.rotate_right(v2 as u32 & 63);
    let v5 = v0.checked_rem(i32::MAX >> 6).unwrap_or(v0);
    let v6 = v5.rotate_left(v5 as u32);
    let v7 = i64::from(v2.overflowing_mul(5).1);
    let v8 = i32::from(v6.overflowing_sub(v5).1);
    let v9 = v4.wrapping_shr(44);
    let end = v7 as u64;
    let end = fold(end, v8 as u64);
    fold(end, v9 as u64)
}
