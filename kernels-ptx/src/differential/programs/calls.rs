//! Calls, direct and through tables. Written by `cargo xtask build-ptx`.

use super::super::float::double;
use super::super::float::single;
use super::fold;

/// How many programs there are.
pub(crate) const COUNT: u32 = 8;

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
        _ => 0,
    }
}

#[inline(never)]
fn direct0(v0: i8, v1: f32, v2: f64) -> i8 {
    let v3 = v0.saturating_sub(-81);
    let v4 = v3.wrapping_div_euclid(v0 | 1);
    let v5 = if v2 < 1e10 { v2 } else { f64::MAX };
    let end = u64::from(single::bits(v1));
    let end = fold(end, v4 as u64);
    let end = fold(end, double::bits(v5));
    (end >> 50) as i8
}

#[inline(never)]
fn entry0_0(v0: i8, v1: i8) -> u8 {
    let v2 = v1.signum();
    let v3 = v0.wrapping_sub(1);
    let v4 = if v3 >= 0 { v2.wrapping_add(-45) } else { v3.saturating_sub(v1) };
    let end = v4 as u64;
    end as u8
}

#[inline(never)]
fn entry0_1(v0: i8, v1: i8) -> u8 {
    let v2 = v0.rotate_left(v1 as u32 & 15);
    let v3 = v2.wrapping_neg();
    let v4 = v0.rotate_left(19);
    let end = v3 as u64;
    let end = fold(end, v4 as u64);
    end as u8
}

#[inline(never)]
fn entry0_2(v0: i8, v1: i8) -> u8 {
    let v2 = if v1 >= -60 { v1.trailing_zeros() as i8 } else { i8::from(v0 < v1) };
    let v3 = !v0;
    let v4 = v1.checked_sub(i8::MAX >> 4).unwrap_or(v2);
    let end = v3 as u64;
    let end = fold(end, v4 as u64);
    end as u8
}

fn p0(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i8;
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f64::from_bits(c);
    let v3 = direct0(v0, v1, v2);
    let v4 = direct0(v3, v1, v2);
    const TABLE: [fn(i8, i8) -> u8; 3] = [entry0_0, entry0_1, entry0_2];
    let v5 = TABLE[(b >> 7) as usize % 3](v4, v3);
    v5 as u64
}

#[inline(never)]
fn direct1(v0: i16, v1: u64, v2: u16) -> i16 {
    let v3 = v1.min(0xd3b33c9b5637c7de);
    let v4 = v3.leading_zeros() as u64;
    let v5 = v2.rotate_right(v3 as u32);
    let end = v0 as u64;
    let end = fold(end, v4);
    let end = fold(end, v5 as u64);
    (end >> 7) as i16
}

#[inline(never)]
fn entry1_0(v0: u32, v1: u32) -> i16 {
    let v2 = u32::from(v0 == u32::MIN);
    let v3 = v1.reverse_bits();
    let v4 = v2.wrapping_pow(3);
    let end = v3 as u64;
    let end = fold(end, v4 as u64);
    (end >> 9) as i16
}

#[inline(never)]
fn entry1_1(v0: u32, v1: u32) -> i16 {
    let v2 = v0.saturating_mul(v1);
    let v3 = u32::from(v1 < v2);
    let v4 = u32::from(v3.overflowing_sub(v1).1);
    let end = v4 as u64;
    (end >> 26) as i16
}

#[inline(never)]
fn entry1_2(v0: u32, v1: u32) -> i16 {
    let v2 = if v1 != v0 { v0.saturating_add(v1) } else { v1.wrapping_rem(v0 | 1) };
    let v3 = v0.saturating_add(0x84450a57);
    let v4 = v2 | v0;
    let end = v3 as u64;
    let end = fold(end, v4 as u64);
    (end >> 43) as i16
}

fn p1(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u16;
    let v1 = (b >> 29) as u16;
    let v2 = c as i16;
    let v3 = a;
    let v4 = c as u32;
    let v5 = direct1(v2, v3, v1);
    let v6 = direct1(v5, v3, v0);
    const TABLE: [fn(u32, u32) -> i16; 3] = [entry1_0, entry1_1, entry1_2];
    let v7 = TABLE[(b >> 7) as usize % 3](v4, v4);
    let end = v6 as u64;
    fold(end, v7 as u64)
}

#[inline(never)]
fn direct2(v0: i64, v1: u128, v2: u8) -> u128 {
    let v3 = if v2 > u8::MAX >> 3 { v2.swap_bytes() } else { v2.min(0xee) };
    let v4 = if v0 != -60 { i64::from(v0 < i64::MAX) } else { v0.wrapping_abs() };
    let v5 = v4.wrapping_rem_euclid(v0 | 1);
    let end = (v1 >> 64) as u64 ^ v1 as u64;
    let end = fold(end, v3 as u64);
    let end = fold(end, v5 as u64);
    u128::from(end) << 44 | u128::from(end)
}

#[inline(never)]
fn entry2_0(v0: u32, v1: u32) -> u8 {
    let v2 = if v0 > u32::MAX >> 9 { u32::from(v1.overflowing_mul(v0).1) } else { v0.wrapping_shr(v1) };
    let v3 = v1.max(v2);
    let v4 = v2.unbounded_shl(40);
    let end = v3 as u64;
    let end = fold(end, v4 as u64);
    (end >> 30) as u8
}

#[inline(never)]
fn entry2_1(v0: u32, v1: u32) -> u8 {
    let v2 = if v0 <= u32::MAX >> 6 { v1.unbounded_shr(v1 & 7) } else { v0.wrapping_rem_euclid(v1 | 1) };
    let v3 = v2.wrapping_shr(v1 & 63);
    let v4 = v3.wrapping_mul(4);
    let end = v4 as u64;
    end as u8
}

#[inline(never)]
fn entry2_2(v0: u32, v1: u32) -> u8 {
    let v2 = v0 | v1;
    let v3 = v0.wrapping_sub(v2);
    let v4 = v2.wrapping_sub(v3);
    let end = v4 as u64;
    (end >> 4) as u8
}

fn p2(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 76 | u128::from(a);
    let v1 = u128::from(b) << 68 | u128::from(b);
    let v2 = u128::from(c) << 85 | u128::from(c);
    let v3 = a as i64;
    let v4 = b as u8;
    let v5 = c as u32;
    let v6 = direct2(v3, v2, v4);
    let v7 = direct2(v3, v0, v4);
    const TABLE: [fn(u32, u32) -> u8; 3] = [entry2_0, entry2_1, entry2_2];
    let v8 = TABLE[(b >> 7) as usize % 3](v5, v5);
    let end = (v1 >> 64) as u64 ^ v1 as u64;
    let end = fold(end, (v6 >> 64) as u64 ^ v6 as u64);
    let end = fold(end, (v7 >> 64) as u64 ^ v7 as u64);
    fold(end, v8 as u64)
}

#[inline(never)]
fn direct3(v0: i128, v1: i32, v2: i32) -> i32 {
    let v3 = i128::from(v0.overflowing_add(0x56550f696dfbbbe7).1);
    let v4 = i32::from(v2.overflowing_add(v1).1);
    let v5 = v4.saturating_mul(v2);
    let end = (v3 >> 64) as u64 ^ v3 as u64;
    let end = fold(end, v5 as u64);
    (end >> 27) as i32
}

#[inline(never)]
fn entry3_0(v0: i64, v1: i64) -> u16 {
    let v2 = v0.saturating_sub(v1);
    let v3 = v2.wrapping_rem_euclid(v0 | 1);
    let v4 = v3.max(v2);
    let end = v4 as u64;
    end as u16
}

#[inline(never)]
fn entry3_1(v0: i64, v1: i64) -> u16 {
    let v2 = v0.unbounded_shl(v1 as u32);
    let v3 = v2.checked_sub(v1).unwrap_or(i64::MAX >> 9);
    let v4 = v3.wrapping_mul(v2);
    let end = v4 as u64;
    (end >> 44) as u16
}

#[inline(never)]
fn entry3_2(v0: i64, v1: i64) -> u16 {
    let v2 = !v1;
    let v3 = v0.rotate_left(v2 as u32 & 7);
    let v4 = if v1 == -1 { v2.wrapping_neg() } else { v3.rotate_left(v2 as u32 & 15) };
    let end = v4 as u64;
    end as u16
}

fn p3(a: u64, b: u64, c: u64) -> u64 {
    let v0 = i128::from(a as i64) << 6;
    let v1 = (b >> 17) as i32;
    let v2 = (c >> 2) as i32;
    let v3 = c as i64;
    let v4 = direct3(v0, v2, v1);
    let v5 = direct3(v0, v4, v4);
    const TABLE: [fn(i64, i64) -> u16; 3] = [entry3_0, entry3_1, entry3_2];
    let v6 = TABLE[(b >> 7) as usize % 3](v3, v3);
    let end = v5 as u64;
    fold(end, v6 as u64)
}

#[inline(never)]
fn direct4(v0: u16, v1: u64, v2: f64) -> u64 {
    let v3 = double::max(v2, 3.0);
    let v4 = v1 as f64;
    let v5 = v0.rotate_right(v0 as u32);
    let end = double::bits(v3);
    let end = fold(end, double::bits(v4));
    let end = fold(end, v5 as u64);
    end
}

#[inline(never)]
fn entry4_0(v0: u8, v1: u8) -> u8 {
    let v2 = v0.wrapping_add(0x33);
    let v3 = v1.wrapping_add(0x27);
    let v4 = u8::from(v3.overflowing_mul(v2).1);
    let end = v4 as u64;
    (end >> 8) as u8
}

#[inline(never)]
fn entry4_1(v0: u8, v1: u8) -> u8 {
    let v2 = v1.wrapping_div(v0 | 1);
    let v3 = v1.unbounded_shr(v2 as u32);
    let v4 = if v1 < v3 { u8::MIN } else { v2 };
    let end = v4 as u64;
    (end >> 25) as u8
}

#[inline(never)]
fn entry4_2(v0: u8, v1: u8) -> u8 {
    let v2 = v0.checked_shr(52).unwrap_or(v1);
    let v3 = if v2 >= v0 { v1 } else { !v0 };
    let v4 = v2.rotate_right(v3 as u32);
    let end = v4 as u64;
    end as u8
}

fn p4(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32 as f64;
    let v1 = b;
    let v2 = c as i32 as f64;
    let v3 = (c >> 42) as u16;
    let v4 = a as u8;
    let v5 = direct4(v3, v1, v2);
    let v6 = direct4(v3, v1, v0);
    const TABLE: [fn(u8, u8) -> u8; 3] = [entry4_0, entry4_1, entry4_2];
    let v7 = TABLE[(b >> 7) as usize % 3](v4, v4);
    let end = v5;
    let end = fold(end, v6);
    fold(end, v7 as u64)
}

#[inline(never)]
fn direct5(v0: u64, v1: u128, v2: i128) -> i8 {
    let v3 = v0.wrapping_add(0x8e66daa7fb416b37);
    let v4 = if v1 != u128::MAX >> 52 { u64::from(v0.overflowing_sub(v3).1) } else { u64::from(v0 == v3) };
    let v5 = if v0 < v4 { v0.saturating_add(v4) } else { v4.wrapping_neg() };
    let end = (v2 >> 64) as u64 ^ v2 as u64;
    let end = fold(end, v5);
    end as i8
}

#[inline(never)]
fn entry5_0(v0: i16, v1: i16) -> u8 {
    let v2 = if v1 >= v0 { v1.checked_add(v0).unwrap_or(i16::MAX) } else { v1.wrapping_abs() };
    let v3 = v2.max(i16::MIN);
    let v4 = v3.saturating_mul(v2);
    let end = v4 as u64;
    end as u8
}

#[inline(never)]
fn entry5_1(v0: i16, v1: i16) -> u8 {
    let v2 = v1.checked_sub(v0).unwrap_or(i16::MAX >> 11);
    let v3 = v2.wrapping_mul(v0);
    let v4 = v3.wrapping_mul(v2);
    let end = v4 as u64;
    end as u8
}

#[inline(never)]
fn entry5_2(v0: i16, v1: i16) -> u8 {
    let v2 = v0.checked_shr(v1 as u32 & 15).unwrap_or(v1);
    let v3 = i16::from(v1 == v0);
    let v4 = v2.wrapping_mul(v3);
    let end = v4 as u64;
    (end >> 10) as u8
}

fn p5(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = u128::from(b) << 22 | u128::from(b);
    let v2 = i128::from(c as i64) << 11;
    let v3 = (b >> 11) as i16;
    let v4 = direct5(v0, v1, v2);
    let v5 = direct5(v0, v1, v2);
    const TABLE: [fn(i16, i16) -> u8; 3] = [entry5_0, entry5_1, entry5_2];
    let v6 = TABLE[(b >> 7) as usize % 3](v3, v3);
    let end = v4 as u64;
    let end = fold(end, v5 as u64);
    fold(end, v6 as u64)
}

#[inline(never)]
fn direct6(v0: i16, v1: u128, v2: i128) -> f32 {
    let v3 = v0.wrapping_div(v0 | 1);
    let v4 = if v2 <= 1 { i16::from(v0.overflowing_mul(v3).1) } else { v3.trailing_zeros() as i16 };
    let v5 = v1 | u128::MAX >> 2;
    let end = v4 as u64;
    let end = fold(end, (v5 >> 64) as u64 ^ v5 as u64);
    f32::from_bits(end as u32)
}

#[inline(never)]
fn entry6_0(v0: i16, v1: i16) -> i16 {
    let v2 = v0.count_ones() as i16;
    let v3 = v2.abs_diff(v1) as i16;
    let v4 = v3.wrapping_rem(v0 | 1);
    let end = v4 as u64;
    end as i16
}

#[inline(never)]
fn entry6_1(v0: i16, v1: i16) -> i16 {
    let v2 = v0.checked_add(v1).unwrap_or(i16::MAX >> 2);
    let v3 = v2.abs_diff(v1) as i16;
    let v4 = v3.wrapping_mul(v2);
    let end = v4 as u64;
    end as i16
}

#[inline(never)]
fn entry6_2(v0: i16, v1: i16) -> i16 {
    let v2 = v0.signum();
    let v3 = v1.checked_mul(v2).unwrap_or(v0);
    let v4 = v3.swap_bytes();
    let end = v4 as u64;
    end as i16
}

fn p6(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 2 | u128::from(a);
    let v1 = u128::from(b) << 20 | u128::from(b);
    let v2 = i128::from(c as i64) << 62;
    let v3 = (a >> 16) as i16;
    let v4 = direct6(v3, v0, v2);
    let v5 = direct6(v3, v1, v2);
    const TABLE: [fn(i16, i16) -> i16; 3] = [entry6_0, entry6_1, entry6_2];
    let v6 = TABLE[(b >> 7) as usize % 3](v3, v3);
    let end = u64::from(single::bits(v4));
    let end = fold(end, u64::from(single::bits(v5)));
    fold(end, v6 as u64)
}

#[inline(never)]
fn direct7(v0: u64, v1: f32, v2: i64) -> i64 {
    let v3 = single::round_even(v1);
    let v4 = v2.unbounded_shl(v0 as u32);
    let v5 = v4 as u64;
    let end = u64::from(single::bits(v3));
    let end = fold(end, v5);
    end as i64
}

#[inline(never)]
fn entry7_0(v0: u32, v1: u32) -> i8 {
    let v2 = v0.checked_rem(v1).unwrap_or(v1);
    let v3 = v1.swap_bytes();
    let v4 = v3.min(u32::MAX >> 17);
    let end = v2 as u64;
    let end = fold(end, v4 as u64);
    end as i8
}

#[inline(never)]
fn entry7_1(v0: u32, v1: u32) -> i8 {
    let v2 = if v0 < v1 { u32::from(v1.overflowing_mul(v0).1) } else { v1.swap_bytes() };
    let v3 = v0.wrapping_rem(v2 | 1);
    let v4 = v3.wrapping_rem_euclid(v0 | 1);
    let end = v4 as u64;
    end as i8
}

#[inline(never)]
fn entry7_2(v0: u32, v1: u32) -> i8 {
    let v2 = u32::from(v1.overflowing_mul(v0).1);
    let v3 = if v2 != u32::MAX >> 1 { v0.wrapping_rem_euclid(v1 | 1) } else { v1.wrapping_mul(v2) };
    let v4 = if v3 >= v0 { v1 } else { !v2 };
    let end = v4 as u64;
    (end >> 37) as i8
}

fn p7(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits(a as u32);
    let v1 = f32::from_bits(b as u32);
    let v2 = c as i64;
    let v3 = b;
    let v4 = a as u32;
    let v5 = direct7(v3, v0, v2);
    let v6 = direct7(v3, v0, v2);
    const TABLE: [fn(u32, u32) -> i8; 3] = [entry7_0, entry7_1, entry7_2];
    let v7 = TABLE[(b >> 7) as usize % 3](v4, v4);
    let end = u64::from(single::bits(v1));
    let end = fold(end, v5 as u64);
    let end = fold(end, v6 as u64);
    fold(end, v7 as u64)
}
