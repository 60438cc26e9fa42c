//! Branches, loops and tables of cases. Written by `cargo xtask build-ptx`.

use super::super::float::single;
use super::fold;

/// How many programs there are.
pub(crate) const COUNT: u32 = 18;

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
        _ => 0,
    }
}

fn p0(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 21) as u32;
    let v1 = (b >> 30) as u32;
    let v2 = c as u32;
    let mut v3 = v1.wrapping_rem_euclid(v0 | 1);
    let mut v4 = v3.checked_div(v0).unwrap_or(v1);
    for i in 0..(v4 as u32 & 15) {
        v4 = v4.wrapping_add(i as u32);
        v3 = u32::from(v2.overflowing_mul(v1).1);
        v4 = v4.wrapping_add(4);
    }
    match v4 & 7 {
        0 => v3 = v3 & v1,
        1 => v3 = v1.unbounded_shl(v3 & 15),
        2 => v3 = v4.min(0x247b33b5),
        3 => v4 = if v4 >= v3 { v0 } else { !v1 },
        4 => v3 = v4.wrapping_div(v0 | 1),
        _ => v4 = v0.wrapping_rem(v4 | 1),
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p1(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 10) as i32;
    let v1 = (b >> 9) as i32;
    let v2 = c;
    let mut v3 = v2.wrapping_shr(v0 as u32 & 63);
    let mut v4 = v3.wrapping_div_euclid(v2 | 1);
    for i in 0..(v1 as u32 & 15) {
        v3 = v3.wrapping_add(i as u64);
        match v4 & 7 {
            0 => v4 = v3.saturating_sub(v4),
            1 => v4 = v2.checked_shr(v1 as u32 & 7).unwrap_or(v4),
            2 => v4 = u64::from(v4 < v2),
            3 => v4 = v4.wrapping_rem(v3 | 1),
            4 => v3 = u64::from(v2.overflowing_add(v3).1),
            5 => v3 = u64::from(v4.overflowing_mul(v3).1),
            _ => v4 = v3.checked_mul(v2).unwrap_or(v4),
        }
        v4 = v4.wrapping_div(v2 | 1);
    }
    match v3 & 3 {
        0 => v4 = v4.unbounded_shr(v1 as u32 & 127),
        1 => v3 = v2.checked_add(10).unwrap_or(v3),
        2 => v3 = u64::from(v3.overflowing_sub(v4).1),
        _ => v4 = v4.wrapping_neg(),
    }
    let end = v3;
    fold(end, v4)
}

fn p2(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 43) as u16;
    let v1 = (b >> 14) as u16;
    let v2 = c as u16;
    let mut v3 = v1.wrapping_shr(5);
    let mut v4 = v3 ^ v2;
    let mut fuel = v4 as u32 & 15;
    while fuel > 0 && v0 > v1 {
        fuel -= 1;
        v4 = v2.checked_rem(v0).unwrap_or(v4);
    }
    if v1 > v0 {
        return v4 as u64;
    }
    match v1 & 7 {
        0 => v3 = v0.saturating_sub(0x758d),
        1 => v3 = v4.checked_mul(v1).unwrap_or(v3),
        2 => v3 = v0.min(v4),
        3 => v4 = v0.wrapping_div_euclid(v3 | 1),
        _ => v4 = v2.wrapping_mul(v1),
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p3(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 21) as u16;
    let v1 = (b >> 13) as u16;
    let v2 = c as u32;
    let mut v3 = v2.wrapping_shr(v2 & 31);
    let mut v4 = v3 & v2;
    let mut fuel = v3 as u32 & 15;
    while fuel > 0 && v4 == u32::MAX >> 7 {
        fuel -= 1;
        v3 = v3.checked_add(v2).unwrap_or(v4);
    }
    if v4 != v2 {
        return v4 as u64;
    }
    match v4 & 7 {
        0 => v3 = v4.wrapping_shr(v3),
        1 => v4 = v4.checked_div(v3).unwrap_or(v2),
        2 => v4 = v3.rotate_left(v4),
        3 => v3 = v2.wrapping_div(v3 | 1),
        4 => v4 = v2.rotate_right(v0 as u32),
        5 => v4 = v4.wrapping_pow(3),
        6 => v4 = v3.reverse_bits(),
        _ => v4 = v4.swap_bytes(),
    }
    let end = v1 as u64;
    let end = fold(end, v3 as u64);
    fold(end, v4 as u64)
}

fn p4(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u8;
    let v1 = b as i8;
    let v2 = (c >> 49) as u8;
    let mut v3 = !v1;
    let mut v4 = v2.wrapping_shl(v3 as u32 & 7);
    let mut fuel = v1 as u32 & 15;
    while fuel > 0 && v1 > 0 {
        fuel -= 1;
        if v1 < v3 {
            v3 = v3.checked_div(v1).unwrap_or(v1);
        }
        match v0 & 7 {
            0 => v4 = v4.wrapping_neg(),
            1 => v3 = v3.saturating_add(v1),
            2 => v4 = v0.wrapping_shr(v2 as u32),
            3 => v4 = v0.wrapping_div_euclid(v4 | 1),
            4 => v3 = v3.rotate_left(v0 as u32 & 7),
            5 => v4 = v4.max(v0),
            6 => v4 = v4.unbounded_shr(v1 as u32),
            _ => v3 = v1.checked_rem(v3).unwrap_or(v1),
        }
    }
    match v3 & 3 {
        0 => v4 = v0.leading_zeros() as u8,
        1 => v3 = v1.wrapping_abs(),
        2 => v4 = u8::from(v2.overflowing_mul(u8::MAX).1),
        _ => v4 = v2.reverse_bits(),
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p5(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i64;
    let v2 = c as i64;
    let mut v3 = v0.rotate_left(v2 as u32);
    let mut v4 = v3.leading_ones() as i64;
    for i in 0..(v1 as u32 & 15) {
        v3 = v3.wrapping_add(i as i64);
        v4 = v4 & 14;
        if v3 <= v4 {
            continue;
        }
        v3 = v2.saturating_sub(v4);
    }
    match v4 & 7 {
        0 => v4 = v0.unbounded_shr(v1 as u32),
        1 => v3 = v4 ^ 0x2af47760c4b2e40,
        2 => v3 = if v2 < v3 { -3 } else { v1 },
        3 => v4 = v4.unbounded_shl(v2 as u32),
        4 => v3 = v4.unbounded_shr(39),
        5 => v4 = v4.checked_div(v0).unwrap_or(v3),
        6 => v3 = v1 ^ v0,
        _ => v3 = v1.leading_zeros() as i64,
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p6(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u8;
    let v1 = b as i64;
    let v2 = c as i64;
    let mut v3 = v0.wrapping_shr(v0 as u32 & 63);
    let mut v4 = v3.unbounded_shl(v0 as u32 & 7);
    for i in 0..(v1 as u32 & 15) {
        v4 = v4.wrapping_add(i as u8);
        if v2 != 25 {
            v4 = v4.wrapping_shr(v2 as u32);
            match v4 & 7 {
                0 => v3 = v0.wrapping_shl(v4 as u32),
                1 => v3 = v0.checked_sub(u8::MIN).unwrap_or(v4),
                2 => v3 = v0.checked_sub(u8::MAX).unwrap_or(v3),
                3 => v4 = v0.checked_mul(v4).unwrap_or(v3),
                4 => v3 = v4.min(v0),
                _ => v4 = v3.checked_rem(v0).unwrap_or(v4),
            }
        }
    }
    if v3 < v4 {
        return v4 as u64;
    }
    match v1 & 7 {
        0 => v4 = v0.wrapping_mul(1),
        1 => v3 = v4.unbounded_shl(v1 as u32 & 15),
        2 => v4 = v3.unbounded_shl(v4 as u32 & 15),
        3 => v3 = v0.max(v4),
        4 => v3 = v3.wrapping_sub(v0),
        5 => v4 = v4.leading_zeros() as u8,
        _ => v3 = v0.trailing_zeros() as u8,
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p7(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b as i64;
    let v2 = c;
    let mut v3 = i64::from(v1.overflowing_add(i64::MIN).1);
    let mut v4 = v3.checked_div(v1).unwrap_or(v1);
    for i in 0..(v4 as u32 & 15) {
        v4 = v4.wrapping_add(i as i64);
        if v2 <= v0 {
            if v2 < v0 {
                v4 = v4.wrapping_abs();
                v3 = v4.wrapping_rem(v3 | 1);
            }
        } else {
            match v1 & 7 {
                0 => v4 = i64::from(v3.overflowing_mul(v1).1),
                1 => v4 = i64::from(v4 == v3),
                2 => v3 = v1.checked_rem(v4).unwrap_or(v3),
                3 => v4 = v3.unbounded_shl(v0 as u32),
                4 => v3 = i64::from(v3.overflowing_mul(v4).1),
                5 => v3 = v3.saturating_mul(v1),
                6 => v4 = v3.trailing_zeros() as i64,
                _ => v3 = i64::from(v4.overflowing_mul(v3).1),
            }
            v4 = v1.checked_mul(v4).unwrap_or(-89);
        }
        if v2 == v0 {
            continue;
        }
        v4 = v4.leading_zeros() as i64;
    }
    if v3 <= v4 {
        return v3 as u64;
    }
    match v0 & 7 {
        0 => v3 = v1.checked_div(i64::MAX).unwrap_or(v4),
        1 => v3 = v4.trailing_zeros() as i64,
        2 => v4 = v4.checked_sub(0x253ff2b53c26e690).unwrap_or(v1),
        3 => v4 = v4.wrapping_rem_euclid(v1 | 1),
        4 => v4 = v4.wrapping_mul(v3),
        5 => v4 = v3.wrapping_neg(),
        _ => v3 = v4.min(v3),
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p8(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 22) as i32;
    let v1 = b as i32;
    let v2 = c as i64 as f32;
    let mut v3 = if v2 >= 1e10 { v2 } else { -v2 };
    let mut v4 = if v3 < f32::INFINITY { v2 } else { 1.0 };
    for i in 0..(v0 as u32 & 15) {
        v4 = v4 + i as f32;
        match v1 & 7 {
            0 => v4 = single::sqrt(v4),
            1 => v4 = single::fma(v2, v3, f32::MIN_POSITIVE),
            2 => v3 = single::fma(v3, v2, v4),
            3 => v3 = v3 - v2,
            4 => v4 = v3 - v2,
            _ => v3 = single::floor(v3),
        }
    }
    match v1 & 7 {
        0 => v3 = single::min(v4, v3),
        1 => v4 = single::ceil(v4),
        2 => v4 = single::min(v4, v2),
        3 => v4 = v3 + v4,
        _ => v4 = single::round_even(v2),
    }
    let end = u64::from(single::bits(v3));
    fold(end, u64::from(single::bits(v4)))
}

fn p9(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    let mut v3 = u64::from(v2 == u64::MAX >> 49);
    let mut v4 = v0.wrapping_rem_euclid(v3 | 1);
    for i in 0..(v3 as u32 & 15) {
        v3 = v3.wrapping_add(i as u64);
        v3 = v1.checked_div(v3).unwrap_or(v4);
        if v0 <= v1 {
            break;
        }
        v4 = v3 | v4;
    }
    match v2 & 3 {
        0 => v3 = v3.leading_zeros() as u64,
        1 => v4 = v4.trailing_zeros() as u64,
        2 => v4 = v4.wrapping_div_euclid(v2 | 1),
        _ => v4 = v0.checked_sub(v2).unwrap_or(v4),
    }
    let end = v3;
    fold(end, v4)
}

fn p10(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = (b >> 17) as i32;
    let v2 = c as i32;
    let mut v3 = v0.unbounded_shr(v1 as u32);
    let mut v4 = v3.leading_ones() as i32;
    for i in 0..(v2 as u32 & 15) {
        v3 = v3.wrapping_add(i as i32);
        v3 = v3.saturating_add(i32::MIN);
        if v1 < -1 {
            break;
        }
        v3 = v1.leading_zeros() as i32;
    }
    match v4 & 7 {
        0 => v4 = v3.checked_rem(v0).unwrap_or(v4),
        1 => v4 = v4.rotate_right(v4 as u32 & 15),
        2 => v4 = v2.unbounded_shr(v2 as u32 & 127),
        3 => v4 = v3.trailing_zeros() as i32,
        _ => v3 = v4.saturating_add(i32::MAX),
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p11(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = b as i32;
    let v2 = (c >> 24) as i32;
    let mut v3 = v2.min(v1);
    let mut v4 = v3.wrapping_add(6);
    for i in 0..(v2 as u32 & 15) {
        v4 = v4.wrapping_add(i as i32);
        match v3 & 3 {
            0 => v3 = v3.saturating_add(v4),
            1 => v3 = v0 ^ v1,
            2 => v4 = v3.count_ones() as i32,
            _ => v4 = v2.wrapping_div(v1 | 1),
        }
        if v2 < v1 {
            continue;
        }
        v4 = v1.rotate_right(v3 as u32 & 63);
    }
    match v1 & 7 {
        0 => v4 = v2.wrapping_mul(i32::MIN),
        1 => v3 = v4.saturating_sub(0x5dd03c37),
        2 => v3 = v4.swap_bytes(),
        3 => v3 = v0.wrapping_mul(v2),
        4 => v4 = i32::from(v4 < v0),
        5 => v4 = i32::from(v0 == i32::MIN),
        6 => v4 = i32::from(v3 < 0x7012c8e7),
        _ => v4 = v2.checked_mul(v3).unwrap_or(v1),
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p12(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = (b >> 42) as i16;
    let v2 = (c >> 43) as i16;
    let mut v3 = v2.rotate_left(v1 as u32);
    let mut v4 = v0.wrapping_shr(v3 as u32 & 7);
    for i in 0..(v4 as u32 & 15) {
        v3 = v3.wrapping_add(i as i16);
        if v4 < -1 {
            v4 = !v1;
        }
        v4 = v4.checked_div(v3).unwrap_or(v1);
        if v1 != 1 {
            break;
        }
        v3 = v3.wrapping_rem_euclid(v2 | 1);
    }
    if v2 <= v1 {
        return v3 as u64;
    }
    match v4 & 3 {
        0 => v4 = v2.checked_shl(v4 as u32).unwrap_or(v0),
        1 => v4 = v0.checked_div(v4).unwrap_or(v1),
        2 => v4 = v4.leading_ones() as i16,
        _ => v4 = v0.wrapping_mul(v3),
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p13(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i32;
    let v2 = c as i32;
    let mut v3 = v0.wrapping_rem_euclid(v0 | 1);
    let mut v4 = v3.unsigned_abs() as i64;
    let mut fuel = v2 as u32 & 15;
    while fuel > 0 && v1 < -1 {
        fuel -= 1;
        if v0 > -60 {
            v3 = v4.checked_mul(i64::MAX).unwrap_or(0x5678e08f9f49b8f3);
        } else {
            match v3 & 7 {
                0 => v4 = v3.wrapping_abs(),
                1 => v3 = v3.wrapping_shl(v0 as u32 & 31),
                2 => v4 = v4.leading_zeros() as i64,
                3 => v4 = v3.unbounded_shl(v1 as u32),
                _ => v4 = v4.wrapping_pow(3),
            }
        }
        v4 = v3.swap_bytes();
    }
    match v2 & 7 {
        0 => v3 = v3.abs_diff(v0) as i64,
        1 => v3 = v3.checked_shl(v2 as u32 & 31).unwrap_or(v4),
        2 => v4 = v4.wrapping_shr(v4 as u32),
        3 => v3 = i64::from(v4.overflowing_mul(v3).1),
        4 => v3 = v3.checked_rem(v0).unwrap_or(v4),
        5 => v3 = v0.leading_ones() as i64,
        _ => v3 = i64::from(v4.overflowing_mul(v0).1),
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p14(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u32;
    let v1 = b as i64;
    let v2 = c as i64;
    let mut v3 = v0.saturating_add(2);
    let mut v4 = v3.wrapping_mul(v0);
    let mut fuel = v2 as u32 & 15;
    while fuel > 0 && v4 >= u32::MAX >> 1 {
        fuel -= 1;
        match v1 & 3 {
            0 => v3 = v4.unbounded_shl(v4 & 31),
            1 => v3 = v4.trailing_zeros() as u32,
            2 => v4 = v4.unbounded_shl(v2 as u32 & 63),
            _ => v3 = v3 & v4,
        }
        v3 = u32::from(v4 == 0x11e15761);
    }
    if v3 != v4 {
        return v4 as u64;
    }
    match v1 & 7 {
        0 => v4 = v0.rotate_right(v0),
        1 => v4 = v4.checked_mul(v3).unwrap_or(0x6ebdc06a),
        2 => v3 = v0.min(v3),
        3 => v4 = v4.abs_diff(6) as u32,
        4 => v4 = v3.wrapping_div(v4 | 1),
        _ => v4 = v0.count_ones() as u32,
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p15(a: u64, b: u64, c: u64) -> u64 {
    let v0 = f32::from_bits((a >> 32) as u32);
    let v1 = f32::from_bits((b >> 32) as u32);
    let v2 = f32::from_bits(c as u32);
    let mut v3 = single::abs(v1);
    let mut v4 = single::ceil(v3);
    let mut fuel = a as u32 & 15;
    while fuel > 0 && v0 < 0.0 {
        fuel -= 1;
        v3 = single::trunc(v3);
        v3 = single::round_even(v4);
    }
    if v2 == v0 {
        return u64::from(single::bits(v4));
    }
    match a & 7 {
        0 => v4 = single::fma(v1, v0, v2),
        1 => v4 = v3 + v0,
        2 => v4 = single::min(v4, v3),
        3 => v4 = if v1 >= v2 { v0 } else { -v3 },
        4 => v3 = single::round_even(v1),
        5 => v3 = single::abs(v1),
        6 => v4 = single::copysign(v3, 1e10),
        _ => v3 = v2 / v1,
    }
    let end = u64::from(single::bits(v3));
    fold(end, u64::from(single::bits(v4)))
}

fn p16(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 6) as u32;
    let v1 = b as u32;
    let v2 = c as u32;
    let mut v3 = v2.abs_diff(u32::MIN) as u32;
    let mut v4 = v1.wrapping_pow(3);
    for i in 0..(v1 as u32 & 15) {
        v4 = v4.wrapping_add(i as u32);
        v3 = v0.wrapping_mul(v3);
        v4 = v4.wrapping_pow(3);
    }
    match v3 & 7 {
        0 => v4 = v1.unbounded_shr(v2 & 15),
        1 => v4 = v0.checked_rem(v1).unwrap_or(v4),
        2 => v4 = u32::from(v3.overflowing_mul(v2).1),
        3 => v3 = v4.checked_rem(v3).unwrap_or(v0),
        _ => v3 = v0.saturating_sub(v1),
    }
    let end = v3 as u64;
    fold(end, v4 as u64)
}

fn p17(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64 as f32;
    let v1 = b as u16;
    let v2 = f32::from_bits((c >> 32) as u32);
    let mut v3 = if v2 < v0 { v0 } else { f32::INFINITY };
    let mut v4 = single::ceil(v0);
    for i in 0..(v1 as u32 & 15) {
        v3 = v3 + i as f32;
        v4 = single::abs(v3);
        if v4 < 1e10 {
            continue;
        }
        v4 = single::copysign(v4, v0);
    }
    if v2 <= v3 {
        return u64::from(single::bits(v4));
    }
    match v1 & 7 {
        0 => v4 = v3 * v2,
        1 => v4 = v3 + 0.0,
        2 => v3 = single::copysign(v2, v3),
        3 => v3 = v3 * v2,
        4 => v4 = single::fma(v0, v2, 1.0),
        5 => v3 = single::floor(v3),
        6 => v4 = single::trunc(v2),
        _ => v4 = v2 + v4,
    }
    let end = u64::from(single::bits(v3));
    fold(end, u64::from(single::bits(v4)))
}
