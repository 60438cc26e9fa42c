//! Integers of 128 bits. Written by `cargo xtask build-ptx`.

use super::fold;

/// How many programs there are.
pub(crate) const COUNT: u32 = 20;

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
        _ => 0,
    }
}

fn p0(a: u64, b: u64, c: u64) -> u64 {
    let v0 = i128::from(a as i64) << 18;
    let v1 = u128::from(b) << 50 | u128::from(b);
    let v2 = u128::from(c) << 68 | u128::from(c);
    let v3 = i128::from(v0 < 0x3b179b12ea4f9088);
    let v4 = v3 as u128;
    let v5 = v0 as u64;
    let v6 = v1.unbounded_shr(34);
    let v7 = if v4 >= v6 { v6.wrapping_shr(v3 as u32) } else { v2 | v1 };
    let end = v5;
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p1(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 85 | u128::from(a);
    let v1 = i128::from(b as i64) << 6;
    let v2 = c;
    let v3 = v0 as i128;
    let v4 = v0.rotate_right(v0 as u32 & 31);
    let v5 = v4.unbounded_shl(v3 as u32);
    let v6 = v4.wrapping_sub(v5);
    let v7 = v0.checked_add(v5).unwrap_or(v6);
    let end = (v1 >> 64) as u64 ^ v1 as u64;
    let end = fold(end, v2);
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p2(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 75 | u128::from(a);
    let v1 = u128::from(b) << 39 | u128::from(b);
    let v2 = i128::from(c as i64) << 63;
    let v3 = v0.wrapping_neg();
    let v4 = v0.saturating_add(v3);
    let v5 = v2.wrapping_abs();
    let v6 = v5.rotate_right(49);
    let v7 = v6.trailing_zeros() as i128;
    let end = (v1 >> 64) as u64 ^ v1 as u64;
    let end = fold(end, (v4 >> 64) as u64 ^ v4 as u64);
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p3(a: u64, b: u64, c: u64) -> u64 {
    let v0 = i128::from(a as i64) << 43;
    let v1 = u128::from(b) << 26 | u128::from(b);
    let v2 = i128::from(c as i64) << 29;
    let v3 = v2 as u64;
    let v4 = v0 | i128::MIN;
    let v5 = v4.checked_shl(v1 as u32 & 7).unwrap_or(i128::MAX);
    let v6 = i128::from(v5 == v4);
    let v7 = v6.unsigned_abs() as i128;
    let end = v3;
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p4(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = u128::from(b) << 22 | u128::from(b);
    let v2 = i128::from(c as i64) << 50;
    let v3 = v1.wrapping_mul(0xf740b18002e3ec64);
    let v4 = v0.wrapping_pow(3);
    let v5 = v3.rotate_left(v2 as u32 & 15);
    let v6 = v2.unbounded_shr(v2 as u32);
    let v7 = v0.checked_div(v4).unwrap_or(v4);
    let end = (v5 >> 64) as u64 ^ v5 as u64;
    let end = fold(end, (v6 >> 64) as u64 ^ v6 as u64);
    fold(end, v7)
}

fn p5(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 97 | u128::from(a);
    let v1 = b;
    let v2 = u128::from(c) << 60 | u128::from(c);
    let v3 = v1 & u64::MAX >> 24;
    let v4 = v3.wrapping_add(0x736188657fe1572b);
    let v5 = v2.count_ones() as u128;
    let v6 = v4 as i128;
    let v7 = v6.leading_ones() as i128;
    let end = (v0 >> 64) as u64 ^ v0 as u64;
    let end = fold(end, (v5 >> 64) as u64 ^ v5 as u64);
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p6(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 87 | u128::from(a);
    let v1 = u128::from(b) << 2 | u128::from(b);
    let v2 = u128::from(c) << 49 | u128::from(c);
    let v3 = v0 as i128;
    let v4 = v1 as u64;
    let v5 = if v2 <= v1 { u64::from(v4 == u64::MIN) } else { v4.wrapping_sub(u64::MAX >> 25) };
    let v6 = v1.checked_shr(v5 as u32 & 63).unwrap_or(u128::MIN);
    let v7 = v3.saturating_add(0x21eec3d0ca9088e7);
    let end = (v6 >> 64) as u64 ^ v6 as u64;
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p7(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 92 | u128::from(a);
    let v1 = i128::from(b as i64) << 3;
    let v2 = i128::from(c as i64) << 58;
    let v3 = v0.checked_add(0xd2716000b0ff09e0).unwrap_or(1);
    let v4 = v1.leading_zeros() as i128;
    let v5 = v2.checked_shl(49).unwrap_or(v4);
    let v6 = v3.saturating_add(0x35cb438dc850bde5);
    let v7 = v5.saturating_sub(13);
    let end = (v6 >> 64) as u64 ^ v6 as u64;
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p8(a: u64, b: u64, c: u64) -> u64 {
    let v0 = i128::from(a as i64) << 4;
    let v1 = i128::from(b as i64) << 22;
    let v2 = u128::from(c) << 93 | u128::from(c);
    let v3 = if v0 < v1 { i128::MIN } else { v0 };
    let v4 = i128::from(v3.overflowing_sub(v0).1);
    let v5 = v4.rotate_left(v2 as u32 & 127);
    let v6 = i128::from(v5 < v0);
    let v7 = if v2 != u128::MAX >> 11 { v2 & u128::MAX >> 49 } else { v2 ^ 0xaa85c09262d321ba };
    let end = (v6 >> 64) as u64 ^ v6 as u64;
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p9(a: u64, b: u64, c: u64) -> u64 {
    let v0 = i128::from(a as i64) << 31;
    let v1 = i128::from(b as i64) << 40;
    let v2 = u128::from(c) << 5 | u128::from(c);
    let v3 = u128::from(v2 == u128::MAX);
    let v4 = v3 as u64;
    let v5 = v4.wrapping_div(v4 | 1);
    let v6 = u128::from(v3 < v2);
    let v7 = v4.swap_bytes();
    let end = (v0 >> 64) as u64 ^ v0 as u64;
    let end = fold(end, (v1 >> 64) as u64 ^ v1 as u64);
    let end = fold(end, v5);
    let end = fold(end, (v6 >> 64) as u64 ^ v6 as u64);
    fold(end, v7)
}

fn p10(a: u64, b: u64, c: u64) -> u64 {
    let v0 = i128::from(a as i64) << 35;
    let v1 = i128::from(b as i64) << 49;
    let v2 = c;
    let v3 = v0.wrapping_shr(v2 as u32);
    let v4 = v2.saturating_mul(u64::MIN);
    let v5 = v1 as u128;
    let v6 = v5.wrapping_shl(13);
    let v7 = if v5 == v6 { v3.leading_zeros() as i128 } else { v3.saturating_add(v1) };
    let end = v4;
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p11(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 81 | u128::from(a);
    let v1 = i128::from(b as i64) << 33;
    let v2 = u128::from(c) << 9 | u128::from(c);
    let v3 = v2.min(0x35cf288a41d8df59);
    let v4 = if v0 < u128::MAX >> 45 { v1 & i128::MIN } else { v1.max(i128::MAX >> 122) };
    let v5 = v3.wrapping_add(u128::MIN);
    let v6 = v4.signum();
    let v7 = v5 as i128;
    let end = (v6 >> 64) as u64 ^ v6 as u64;
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p12(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = i128::from(c as i64) << 23;
    let v3 = v2.unsigned_abs() as i128;
    let v4 = v3 as u128;
    let v5 = if v3 > -1 { v4.abs_diff(0x12da9d3eacb9f95a) as u128 } else { v4.trailing_zeros() as u128 };
    let v6 = v3 & v2;
    let v7 = v0.wrapping_rem(v1 | 1);
    let end = (v5 >> 64) as u64 ^ v5 as u64;
    let end = fold(end, (v6 >> 64) as u64 ^ v6 as u64);
    fold(end, v7)
}

fn p13(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = u128::from(b) << 85 | u128::from(b);
    let v2 = i128::from(c as i64) << 23;
    let v3 = v1.unbounded_shl(v1 as u32 & 127);
    let v4 = i128::from(v2 == i128::MAX >> 101);
    let v5 = v3.saturating_sub(v1);
    let v6 = v0.swap_bytes();
    let v7 = v5.rotate_right(v0 as u32);
    let end = (v4 >> 64) as u64 ^ v4 as u64;
    let end = fold(end, v6);
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p14(a: u64, b: u64, c: u64) -> u64 {
    let v0 = i128::from(a as i64) << 15;
    let v1 = i128::from(b as i64) << 44;
    let v2 = u128::from(c) << 5 | u128::from(c);
    let v3 = v0.wrapping_neg();
    let v4 = v1.min(v3);
    let v5 = v0.checked_shr(v2 as u32 & 63).unwrap_or(0x43d3fe9763cbfe4d);
    let v6 = v2 & u128::MAX >> 72;
    let v7 = v5.wrapping_add(v1);
    let end = (v4 >> 64) as u64 ^ v4 as u64;
    let end = fold(end, (v6 >> 64) as u64 ^ v6 as u64);
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p15(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 7 | u128::from(a);
    let v1 = i128::from(b as i64) << 9;
    let v2 = u128::from(c) << 38 | u128::from(c);
    let v3 = v1 as u64;
    let v4 = v3.wrapping_mul(2);
    let v5 = v0.wrapping_neg();
    let v6 = v1.min(0x23640c3ae8e8a3f4);
    let v7 = if v2 <= v5 { v2.saturating_sub(v5) } else { !v5 };
    let end = v4;
    let end = fold(end, (v6 >> 64) as u64 ^ v6 as u64);
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p16(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = i128::from(c as i64) << 19;
    let v3 = v0 as u128;
    let v4 = v3.unbounded_shr(v2 as u32);
    let v5 = v1.wrapping_add(u64::MIN);
    let v6 = v4.checked_sub(v3).unwrap_or(u128::MAX);
    let v7 = v6.checked_shl(v5 as u32).unwrap_or(v3);
    (v7 >> 64) as u64 ^ v7 as u64
}

fn p17(a: u64, b: u64, c: u64) -> u64 {
    let v0 = u128::from(a) << 50 | u128::from(a);
    let v1 = u128::from(b) << 54 | u128::from(b);
    let v2 = i128::from(c as i64) << 48;
    let v3 = u128::from(v1.overflowing_sub(u128::MAX >> 22).1);
    let v4 = if v3 < v0 { 8 } else { v1 };
    let v5 = v2.wrapping_shr(v4 as u32);
    let v6 = if v2 <= v5 { v1.leading_zeros() as u128 } else { v1.reverse_bits() };
    let v7 = v6.checked_add(v4).unwrap_or(0xba4997e1a6a4855e);
    (v7 >> 64) as u64 ^ v7 as u64
}

fn p18(a: u64, b: u64, c: u64) -> u64 {
    let v0 = i128::from(a as i64) << 36;
    let v1 = u128::from(b) << 59 | u128::from(b);
    let v2 = u128::from(c) << 94 | u128::from(c);
    let v3 = if v1 >= v2 { v2 } else { !v2 };
    let v4 = v0.leading_ones() as i128;
    let v5 = if v3 != u128::MAX >> 14 { v2.unbounded_shr(v4 as u32) } else { v2.wrapping_mul(v3) };
    let v6 = v0 as u64;
    let v7 = if v5 >= u128::MAX >> 36 { v5.min(0x47f98ea1273ae840) } else { v1.wrapping_add(v3) };
    let end = v6;
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}

fn p19(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = u128::from(b) << 49 | u128::from(b);
    let v2 = u128::from(c) << 7 | u128::from(c);
    let v3 = if v2 > v1 { v1.wrapping_pow(3) } else { v2.rotate_left(v2 as u32) };
    let v4 = v3 as i128;
    let v5 = v1 ^ 0x9f0f1c20a59c1dc3;
    let v6 = v0 as u128;
    let v7 = v4.checked_sub(i128::MAX >> 108).unwrap_or(i128::MAX);
    let end = (v5 >> 64) as u64 ^ v5 as u64;
    let end = fold(end, (v6 >> 64) as u64 ^ v6 as u64);
    fold(end, (v7 >> 64) as u64 ^ v7 as u64)
}
