//! Arrays on the stack and constant tables. Written by `cargo xtask build-ptx`.

use super::fold;

/// How many programs there are.
pub(crate) const COUNT: u32 = 10;

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
        _ => 0,
    }
}

fn p0(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i64;
    let v2 = c as i32;
    const TABLE: [i32; 8] = [52, 83, 8, 32, 12, 5, 100, 62];
    let mut array = [v2; 8];
    array[v2 as usize % 8] = v2.checked_div(i32::MIN).unwrap_or(v2);
    array[v2 as usize % 8] = v2.rotate_left(7);
    array[v2 as usize % 8] = v2.signum();
    for i in 0..(v2 as usize & 15) {
        let v = array[(i ^ v0 as usize) % 8];
        array[i % 8] = v.wrapping_add(TABLE[(v as usize ^ i) & 7] as i32) ^ v0 as i32;
    }
    let v3 = array[v1 as usize % 8];
    let v4 = TABLE[v1 as usize & 7];
    let v5 = !v3;
    let v6 = v4.wrapping_abs();
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v5 as u64;
    let end = fold(end, v6 as u64);
    fold(end, v7)
}

fn p1(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u32;
    let v1 = b as i64;
    let v2 = (c >> 25) as u32;
    const TABLE: [i64; 8] = [0, 63, 57, 58, 51, 126, 124, 105];
    let mut array = [v0; 8];
    array[v1 as usize % 8] = if v2 < v0 { 12 } else { v2 };
    array[v0 as usize % 8] = v0.wrapping_div(v2 | 1);
    array[v1 as usize % 8] = v2.reverse_bits();
    for i in 0..(v1 as usize & 15) {
        let v = array[(i ^ v2 as usize) % 8];
        array[i % 8] = v.wrapping_mul(TABLE[(v as usize ^ i) & 7] as u32) ^ v2 as u32;
    }
    let v3 = array[v0 as usize % 8];
    let v4 = TABLE[v3 as usize & 7];
    let v5 = !v2;
    let v6 = v5.count_ones() as u32;
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v4 as u64;
    let end = fold(end, v6 as u64);
    fold(end, v7)
}

fn p2(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = (b >> 26) as i16;
    let v2 = c as i16;
    const TABLE: [i16; 8] = [38, 3, 6, 127, 41, 108, 28, 111];
    let mut array = [v0; 8];
    array[v0 as usize % 8] = v2.unbounded_shr(v1 as u32 & 63);
    array[v0 as usize % 8] = v2 & v1;
    array[v0 as usize % 8] = v0.checked_shr(v1 as u32).unwrap_or(-89);
    for i in 0..(v1 as usize & 15) {
        let v = array[(i ^ v1 as usize) % 8];
        array[i % 8] = v.rotate_left(i as u32) ^ v1 as i16;
    }
    let v3 = array[v0 as usize % 8];
    let v4 = TABLE[v3 as usize & 7];
    let v5 = v4.saturating_mul(v3);
    let v6 = v0.max(v3);
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v5 as u64;
    let end = fold(end, v6 as u64);
    fold(end, v7)
}

fn p3(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as u8;
    let v1 = b as u8;
    let v2 = c as u8;
    const TABLE: [u8; 8] = [67, 9, 125, 61, 92, 72, 58, 83];
    let mut array = [v0; 8];
    array[v2 as usize % 8] = u8::from(v1 == v0);
    array[v0 as usize % 8] = v2.checked_shr(8).unwrap_or(v1);
    array[v0 as usize % 8] = v1.leading_zeros() as u8;
    for i in 0..(v1 as usize & 15) {
        let v = array[(i ^ v1 as usize) % 8];
        array[i % 8] = v.max(TABLE[(v as usize ^ i) & 7] as u8) ^ v1 as u8;
    }
    let v3 = array[v1 as usize % 8];
    let v4 = TABLE[v3 as usize & 7];
    let v5 = if v4 >= u8::MAX >> 3 { v1.wrapping_mul(v3) } else { v0.abs_diff(v2) as u8 };
    let v6 = v2.wrapping_pow(3);
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v5 as u64;
    let end = fold(end, v6 as u64);
    fold(end, v7)
}

fn p4(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a;
    let v1 = b;
    let v2 = c;
    const TABLE: [i16; 8] = [84, 58, 64, 86, 74, 69, 45, 12];
    let mut array = [v1; 4];
    array[v0 as usize % 4] = v2.reverse_bits();
    array[v2 as usize % 4] = v1.saturating_mul(4);
    array[v0 as usize % 4] = v2.wrapping_add(v1);
    for i in 0..(v1 as usize & 15) {
        let v = array[(i ^ v2 as usize) % 4];
        array[i % 4] = v.min(TABLE[(v as usize ^ i) & 7] as u64) ^ v2 as u64;
    }
    let v3 = array[v1 as usize % 4];
    let v4 = TABLE[v3 as usize & 7];
    let v5 = if v3 >= v2 { v4.reverse_bits() } else { v4.signum() };
    let v6 = v5.unsigned_abs() as i16;
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v6 as u64;
    fold(end, v7)
}

fn p5(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i16;
    let v2 = c as i64;
    const TABLE: [i64; 8] = [127, 19, 126, 98, 18, 19, 64, 65];
    let mut array = [v0; 4];
    array[v0 as usize % 4] = v2.unsigned_abs() as i64;
    array[v1 as usize % 4] = v0.abs_diff(-98) as i64;
    array[v2 as usize % 4] = v0.checked_add(v2).unwrap_or(10);
    for i in 0..(v1 as usize & 15) {
        let v = array[(i ^ v2 as usize) % 4];
        array[i % 4] = v.max(TABLE[(v as usize ^ i) & 7] as i64) ^ v2 as i64;
    }
    let v3 = array[v1 as usize % 4];
    let v4 = TABLE[v1 as usize & 7];
    let v5 = v4.wrapping_div_euclid(v3 | 1);
    let v6 = i64::from(v5 == v2);
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v6 as u64;
    fold(end, v7)
}

fn p6(a: u64, b: u64, c: u64) -> u64 {
    let v0 = (a >> 11) as i8;
    let v1 = b as i8;
    let v2 = c as u16;
    const TABLE: [i8; 8] = [15, 34, 113, 83, 120, 38, 49, 117];
    let mut array = [v0; 4];
    array[v2 as usize % 4] = v1.wrapping_add(v0);
    array[v2 as usize % 4] = v1.leading_zeros() as i8;
    array[v2 as usize % 4] = i8::from(v1 == v0);
    for i in 0..(v2 as usize & 15) {
        let v = array[(i ^ v2 as usize) % 4];
        array[i % 4] = v.max(TABLE[(v as usize ^ i) & 7] as i8) ^ v2 as i8;
    }
    let v3 = array[v2 as usize % 4];
    let v4 = TABLE[v3 as usize & 7];
    let v5 = v4.wrapping_rem(v1 | 1);
    let v6 = v5.wrapping_rem(v0 | 1);
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v6 as u64;
    fold(end, v7)
}

fn p7(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i64;
    let v1 = b as i64;
    let v2 = c as i64;
    const TABLE: [i64; 8] = [44, 109, 121, 126, 80, 26, 87, 101];
    let mut array = [v2; 8];
    array[v1 as usize % 8] = if v0 < v2 { v1 } else { v1 };
    array[v2 as usize % 8] = v2.min(v1);
    array[v2 as usize % 8] = v1.signum();
    for i in 0..(v2 as usize & 15) {
        let v = array[(i ^ v1 as usize) % 8];
        array[i % 8] = v.rotate_left(i as u32) ^ v1 as i64;
    }
    let v3 = array[v0 as usize % 8];
    let v4 = TABLE[v0 as usize & 7];
    let v5 = v4.saturating_mul(v3);
    let v6 = v5.checked_div(v1).unwrap_or(v2);
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v6 as u64;
    fold(end, v7)
}

fn p8(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i16;
    let v1 = (b >> 37) as i16;
    let v2 = c as i64;
    const TABLE: [i16; 8] = [21, 6, 22, 77, 91, 18, 18, 12];
    let mut array = [v1; 8];
    array[v1 as usize % 8] = v0.rotate_right(v1 as u32 & 63);
    array[v1 as usize % 8] = v0.saturating_sub(0x2abd);
    array[v1 as usize % 8] = v1.saturating_mul(v0);
    for i in 0..(v2 as usize & 15) {
        let v = array[(i ^ v2 as usize) % 8];
        array[i % 8] = v.max(TABLE[(v as usize ^ i) & 7] as i16) ^ v2 as i16;
    }
    let v3 = array[v2 as usize % 8];
    let v4 = TABLE[v2 as usize & 7];
    let v5 = v4.saturating_mul(0x1db4);
    let v6 = v5.saturating_mul(v0);
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v3 as u64;
    let end = fold(end, v6 as u64);
    fold(end, v7)
}

fn p9(a: u64, b: u64, c: u64) -> u64 {
    let v0 = a as i32;
    let v1 = b;
    let v2 = c;
    const TABLE: [u64; 8] = [47, 11, 90, 8, 25, 14, 106, 18];
    let mut array = [v0; 8];
    array[v0 as usize % 8] = i32::from(v0 < i32::MIN);
    array[v0 as usize % 8] = v0.wrapping_abs();
    array[v2 as usize % 8] = v0.checked_sub(0x2d7c919a).unwrap_or(i32::MAX >> 18);
    for i in 0..(v1 as usize & 15) {
        let v = array[(i ^ v2 as usize) % 8];
        array[i % 8] = v.max(TABLE[(v as usize ^ i) & 7] as i32) ^ v2 as i32;
    }
    let v3 = array[v0 as usize % 8];
    let v4 = TABLE[v3 as usize & 7];
    let v5 = v0.wrapping_rem(v3 | 1);
    let v6 = if v5 < v0 { v0.wrapping_div_euclid(v3 | 1) } else { v5.wrapping_rem(v0 | 1) };
    let mut v7 = 0;
    for v in array {
        v7 = fold(v7, v as u64);
    }
    let end = v4;
    let end = fold(end, v6 as u64);
    fold(end, v7)
}
