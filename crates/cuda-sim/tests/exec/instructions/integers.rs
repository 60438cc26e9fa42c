//! Integer and bit operations against wide host arithmetic.

use cuda_sim::exec::{Grid, Options};

use super::vectors::{check, check_each, check_predicates, check16, check32, check64};
use crate::exec::rig::{memory, module, run};

fn s32(word: u32) -> i128 {
    (word as i32).into()
}

fn s64(word: u64) -> i128 {
    (word as i64).into()
}

#[test]
fn sums_products_and_quotients_of_32_bits() {
    check32("add.s32 %r4, %r1, %r2;", |a, b, _| (s32(a) + s32(b)) as u32);
    check32("sub.u32 %r4, %r1, %r2;", |a, b, _| (s32(a) - s32(b)) as u32);
    check32("add.sat.s32 %r4, %r1, %r2;", |a, b, _| (s32(a) + s32(b)).clamp(i32::MIN.into(), i32::MAX.into()) as u32);
    check32("mul.lo.s32 %r4, %r1, %r2;", |a, b, _| (s32(a) * s32(b)) as u32);
    check32("mul.hi.s32 %r4, %r1, %r2;", |a, b, _| (s32(a) * s32(b) >> 32) as u32);
    check32("mul.hi.u32 %r4, %r1, %r2;", |a, b, _| (u128::from(a) * u128::from(b) >> 32) as u32);
    check32("mad.lo.u32 %r4, %r1, %r2, %r3;", |a, b, c| (s32(a) * s32(b) + s32(c)) as u32);
    check32("mad.hi.s32 %r4, %r1, %r2, %r3;", |a, b, c| ((s32(a) * s32(b) >> 32) + s32(c)) as u32);
    check32("div.u32 %r4, %r1, %r2;", |a, b, _| a.checked_div(b).unwrap_or(u32::MAX));
    check32("rem.u32 %r4, %r1, %r2;", |a, b, _| a.checked_rem(b).unwrap_or(a));
    check32("div.s32 %r4, %r1, %r2;", |a, b, _| if b == 0 { u32::MAX } else { (s32(a) / s32(b)) as u32 });
    check32("rem.s32 %r4, %r1, %r2;", |a, b, _| if b == 0 { a } else { (s32(a) % s32(b)) as u32 });
    check32("neg.s32 %r4, %r1;", |a, _, _| (-s32(a)) as u32);
    check32("abs.s32 %r4, %r1;", |a, _, _| (a as i32).unsigned_abs());
    check32("min.s32 %r4, %r1, %r2;", |a, b, _| s32(a).min(s32(b)) as u32);
    check32("max.u32 %r4, %r1, %r2;", |a, b, _| a.max(b));
    check32("sub.sat.s32 %r4, %r1, %r2;", |a, b, _| (s32(a) - s32(b)).clamp(i32::MIN.into(), i32::MAX.into()) as u32);
    check32("mad.hi.u32 %r4, %r1, %r2, %r3;", |a, b, c| ((u128::from(a) * u128::from(b) >> 32) + u128::from(c)) as u32);
    check32("max.s32 %r4, %r1, %r2;", |a, b, _| s32(a).max(s32(b)) as u32);
    check32("min.u32 %r4, %r1, %r2;", |a, b, _| a.min(b));
    check32("sad.u32 %r4, %r1, %r2, %r3;", |a, b, c| a.abs_diff(b).wrapping_add(c));
    check32("sad.s32 %r4, %r1, %r2, %r3;", |a, b, c| ((s32(a) - s32(b)).abs() + i128::from(c)) as u32);
}

#[test]
fn sums_products_and_quotients_of_64_bits() {
    check64("add.s64 %d4, %d1, %d2;", |a, b, _| (s64(a) + s64(b)) as u64);
    check64("sub.s64 %d4, %d1, %d2;", |a, b, _| (s64(a) - s64(b)) as u64);
    check64("mul.lo.s64 %d4, %d1, %d2;", |a, b, _| (u128::from(a).wrapping_mul(b.into())) as u64);
    check64("mul.hi.u64 %d4, %d1, %d2;", |a, b, _| (u128::from(a) * u128::from(b) >> 64) as u64);
    check64("mul.hi.s64 %d4, %d1, %d2;", |a, b, _| (s64(a) * s64(b) >> 64) as u64);
    check64("mad.lo.s64 %d4, %d1, %d2, %d3;", |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check64("mad.hi.u64 %d4, %d1, %d2, %d3;", |a, b, c| ((u128::from(a) * u128::from(b) >> 64) as u64).wrapping_add(c));
    check64("mad.hi.s64 %d4, %d1, %d2, %d3;", |a, b, c| ((s64(a) * s64(b) >> 64) as u64).wrapping_add(c));
    check64("rem.u64 %d4, %d1, %d2;", |a, b, _| a.checked_rem(b).unwrap_or(a));
    check64("div.u64 %d4, %d1, %d2;", |a, b, _| a.checked_div(b).unwrap_or(u64::MAX));
    check64("rem.s64 %d4, %d1, %d2;", |a, b, _| if b == 0 { a } else { (s64(a) % s64(b)) as u64 });
    check64("div.s64 %d4, %d1, %d2;", |a, b, _| if b == 0 { u64::MAX } else { (s64(a) / s64(b)) as u64 });
    check64("min.s64 %d4, %d1, %d2;", |a, b, _| s64(a).min(s64(b)) as u64);
    check64("max.u64 %d4, %d1, %d2;", |a, b, _| a.max(b));
    check64("neg.s64 %d4, %d1;", |a, _, _| (-s64(a)) as u64);
    check64("abs.s64 %d4, %d1;", |a, _, _| s64(a).unsigned_abs() as u64);
}

#[test]
fn products_wider_than_their_factors() {
    check64("mul.wide.u32 %d4, %r1, %r2;", |a, b, _| u64::from(a as u32) * u64::from(b as u32));
    check64("mul.wide.s32 %d4, %r1, %r2;", |a, b, _| (s32(a as u32) * s32(b as u32)) as u64);
    check64("mad.wide.s32 %d4, %r1, %r2, %d3;", |a, b, c| (s32(a as u32) * s32(b as u32) + s64(c)) as u64);
    check64("mad.wide.u32 %d4, %r1, %r2, %d3;", |a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c));
    check32("mad.wide.u16 %r4, %h1, %h2, %r3;", |a, b, c| ((a & 0xffff) * (b & 0xffff)).wrapping_add(c));
    check32("mad.wide.s16 %r4, %h1, %h2, %r3;", |a, b, c| {
        (s32(c) + i128::from(a as i16) * i128::from(b as i16)) as u32
    });
    check32("mul.wide.u16 %r4, %h1, %h2;", |a, b, _| u32::from(a as u16) * u32::from(b as u16));
    check32("mul.wide.s16 %r4, %h1, %h2;", |a, b, _| (i32::from(a as i16) * i32::from(b as i16)) as u32);
}

#[test]
fn sixteen_bit_arithmetic_stays_in_sixteen_bits() {
    check16("add.s16 %h4, %h1, %h2;", u16_of(|a, b| a + b));
    check16("sub.s16 %h4, %h1, %h2;", u16_of(|a, b| a - b));
    check16("mul.lo.s16 %h4, %h1, %h2;", u16_of(|a, b| a * b));
    check16("mul.hi.u16 %h4, %h1, %h2;", |a, b, _| (u32::from(a) * u32::from(b) >> 16) as u16);
    check16("mul.hi.s16 %h4, %h1, %h2;", |a, b, _| (i32::from(a as i16) * i32::from(b as i16) >> 16) as u16);
    check16("mad.lo.s16 %h4, %h1, %h2, %h3;", |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check16("min.s16 %h4, %h1, %h2;", |a, b, _| (a as i16).min(b as i16) as u16);
    check16("max.u16 %h4, %h1, %h2;", |a, b, _| a.max(b));
    check16("div.u16 %h4, %h1, %h2;", |a, b, _| a.checked_div(b).unwrap_or(u16::MAX));
    let shift = |instruction: &str, expected: fn(u16, u32) -> u16| {
        let body = format!("{instruction} %h4, %h1, %r2; cvt.u64.u16 %d4, %h4;");
        check(&body, |[a, b, _]| expected(a as u16, b as u32).into());
    };
    shift("shl.b16", |a, b| a.checked_shl(b).unwrap_or(0));
    shift("shr.u16", |a, b| a.checked_shr(b).unwrap_or(0));
    shift("shr.s16", |a, b| ((a as i16) >> b.min(15)) as u16);
    check16(
        "rem.s16 %h4, %h1, %h2;",
        |a, b, _| if b == 0 { a } else { (i32::from(a as i16) % i32::from(b as i16)) as u16 },
    );
    check16("neg.s16 %h4, %h1;", |a, _, _| a.wrapping_neg());
    check16("abs.s16 %h4, %h1;", |a, _, _| (a as i16).unsigned_abs());
    check16("cnot.b16 %h4, %h1;", |a, _, _| u16::from(a == 0));
    // Numbers are cut to the width before they are extended.
    check16("mul.hi.u16 %h4, %h1, -3;", |a, _, _| (u32::from(a) * 0xfffd >> 16) as u16);
    check16("max.s16 %h4, %h1, -3;", |a, _, _| (a as i16).max(-3) as u16);
    check16("min.u16 %h4, %h1, -3;", |a, _, _| a.min(0xfffd));
    check16("selp.b16 %h4, %h1, %h2, 0;", |_, b, _| b);
    check16("xor.b16 %h4, %h1, %h2;", |a, b, _| a ^ b);
    check16("not.b16 %h4, %h1;", |a, _, _| !a);
    check16("selp.b16 %h4, %h1, %h2, 1;", |a, _, _| a);
}

fn u16_of(f: impl Fn(i64, i64) -> i64) -> impl Fn(u16, u16, u16) -> u16 {
    move |a, b, _| f((a as i16).into(), (b as i16).into()) as u16
}

#[test]
fn shift_counts_clamp_at_the_width() {
    check32("shl.b32 %r4, %r1, %r2;", |a, b, _| a.checked_shl(b).unwrap_or(0));
    check32("shr.u32 %r4, %r1, %r2;", |a, b, _| a.checked_shr(b).unwrap_or(0));
    check32("shr.s32 %r4, %r1, %r2;", |a, b, _| ((a as i32) >> b.min(31)) as u32);
    check64("shl.b64 %d4, %d1, %r2;", |a, b, _| a.checked_shl(b as u32).unwrap_or(0));
    check64("shr.u64 %d4, %d1, %r2;", |a, b, _| a.checked_shr(b as u32).unwrap_or(0));
    check64("shr.s64 %d4, %d1, %r2;", |a, b, _| ((a as i64) >> (b as u32).min(63)) as u64);
    let pair = |a: u32, b: u32| u64::from(b) << 32 | u64::from(a);
    check32("shf.l.wrap.b32 %r4, %r1, %r2, %r3;", |a, b, c| (pair(a, b) << (c & 31) >> 32) as u32);
    check32("shf.r.wrap.b32 %r4, %r1, %r2, %r3;", |a, b, c| (pair(a, b) >> (c & 31)) as u32);
    check32("shf.l.clamp.b32 %r4, %r1, %r2, %r3;", |a, b, c| (u128::from(pair(a, b)) << c.min(32) >> 32) as u32);
    check32("shf.r.clamp.b32 %r4, %r1, %r2, %r3;", |a, b, c| (pair(a, b) >> c.min(32)) as u32);
}

#[test]
fn bit_operations() {
    check32("and.b32 %r4, %r1, %r2;", |a, b, _| a & b);
    check64("or.b64 %d4, %d1, %d2;", |a, b, _| a | b);
    check64("not.b64 %d4, %d1;", |a, _, _| !a);
    check64("cnot.b64 %d4, %d1;", |a, _, _| u64::from(a == 0));
    check32("cnot.b32 %r4, %r1;", |a, _, _| u32::from(a == 0));
    check32("brev.b32 %r4, %r1;", |a, _, _| a.reverse_bits());
    check64("brev.b64 %d4, %d1;", |a, _, _| a.reverse_bits());
    check32("popc.b32 %r4, %r1;", |a, _, _| a.count_ones());
    check32("clz.b32 %r4, %r1;", |a, _, _| a.leading_zeros());
    check32("bfind.u32 %r4, %r1;", |a, _, _| a.checked_ilog2().unwrap_or(u32::MAX));
}

#[test]
fn fields_of_bits() {
    // Bit by bit, as the instruction set defines them.
    let extract = |a: u64, pos: u64, len: u64, width: u64, signed: bool| {
        let (pos, len) = (pos & 0xff, len & 0xff);
        let sign = signed && len > 0 && a >> (pos + len - 1).min(width - 1) & 1 == 1;
        (0..width).fold(0, |word, i| {
            let bit = if i < len && pos + i < width { a >> (pos + i) & 1 == 1 } else { sign };
            word | u64::from(bit) << i
        })
    };
    check32("bfe.u32 %r4, %r1, %r2, %r3;", |a, b, c| extract(a.into(), b.into(), c.into(), 32, false) as u32);
    check32("bfe.s32 %r4, %r1, %r2, %r3;", |a, b, c| extract(a.into(), b.into(), c.into(), 32, true) as u32);
    check64("bfe.u64 %d4, %d1, %r2, %r3;", |a, b, c| extract(a, b, c, 64, false));
    check64("bfe.s64 %d4, %d1, %r2, %r3;", |a, b, c| extract(a, b, c, 64, true));
    let insert = |a: u32, b: u32, pos: u32, len: u32| {
        let (pos, len) = (pos & 0xff, len & 0xff);
        (0..len.min(32))
            .filter(|i| pos + i < 32)
            .fold(b, |word, i| word & !(1 << (pos + i)) | (a >> i & 1) << (pos + i))
    };
    check32("bfi.b32 %r4, %r1, %r2, %r3, 7;", |a, b, c| insert(a, b, c, 7));
    check32("bfi.b32 %r4, %r3, %r1, %r1, %r2;", |a, b, c| insert(c, a, a, b));
    for len in [0, 1, 30, 31, 32, 33, 255] {
        check32(&format!("bfi.b32 %r4, %r1, %r2, 0, {len};"), |a, b, _| insert(a, b, 0, len));
    }
}

#[test]
fn byte_permutations() {
    let byte = |a: u32, b: u32, i: u32| a.to_le_bytes().into_iter().chain(b.to_le_bytes()).nth(i as usize).unwrap();
    check32("prmt.b32 %r4, %r1, %r2, %r3;", |a, b, c| {
        u32::from_le_bytes([0, 1, 2, 3].map(|i| {
            let nibble = c >> (4 * i) & 15;
            let value = byte(a, b, nibble & 7);
            if nibble < 8 { value } else { ((value as i8) >> 7) as u8 }
        }))
    });
    // Bytes from lowest to highest, for the selectors 0 to 3, from the tables of the instruction set.
    let tables: [(&str, [[u32; 4]; 4]); 6] = [
        ("f4e", [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
        ("b4e", [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
        ("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecl", [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
        ("rc16", [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
    ];
    for (mode, table) in tables {
        check32(&format!("prmt.b32.{mode} %r4, %r1, %r2, %r3;"), |a, b, c| {
            u32::from_le_bytes(table[c as usize % 4].map(|i| byte(a, b, i)))
        });
    }
}

#[test]
fn every_table_of_lop3() {
    // The assembler takes longer numbers too, for their low 8 bits.
    for lut in (0..256).step_by(7).chain([0x96, 0xe8, 0xca, 0x80, 0xfe, 256, 0x1ff]) {
        check32(&format!("lop3.b32 %r4, %r1, %r2, %r3, {lut};"), |a, b, c| {
            (0..32).fold(0, |word, i| {
                let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1;
                word | (lut >> index & 1) << i
            })
        });
    }
}

#[test]
fn carries_chain_over_words() {
    let sum = "add.cc.u64 %d5, %d1, %d2; addc.cc.u64 %d6, %d3, %d1; addc.u64 %d4, 0, 0;";
    check64(sum, |a, b, c| {
        let low = u128::from(a) + u128::from(b);
        (u128::from(c) + u128::from(a) + (low >> 64) >> 64) as u64
    });
    let difference = "sub.cc.u64 %d5, %d1, %d2; subc.cc.u64 %d6, %d3, %d1; subc.u64 %d4, 0, 0;";
    check64(difference, |a, b, c| {
        let borrow = u128::from(a < b);
        if u128::from(c) < u128::from(a) + borrow { u64::MAX } else { 0 }
    });
    // Without `.cc` the carry does not change.
    let kept = "add.cc.u32 %r5, %r1, %r2; addc.u32 %r6, %r3, -1; addc.u32 %r4, 0, 0;";
    check32(kept, |a, b, _| u32::from(a.checked_add(b).is_none()));
    let difference = "sub.cc.u32 %r5, %r1, %r2; subc.u32 %r4, %r3, %r1;";
    check32(difference, |a, b, c| c.wrapping_sub(a).wrapping_sub(u32::from(a < b)));
}

#[test]
fn comparisons_by_width_and_sign() {
    // Whether each holds for less, equal and greater; the last four are for unsigned types.
    let comparisons = [
        ("eq", [false, true, false]),
        ("ne", [true, false, true]),
        ("lt", [true, false, false]),
        ("le", [true, true, false]),
        ("gt", [false, false, true]),
        ("ge", [false, true, true]),
        ("lo", [true, false, false]),
        ("ls", [true, true, false]),
        ("hi", [false, false, true]),
        ("hs", [false, true, true]),
    ];
    for (ty, bits, signed) in TYPES.into_iter().filter(|(_, bits, _)| *bits > 8) {
        let class = match bits {
            16 => "%h",
            32 => "%r",
            _ => "%d",
        };
        let comparisons = &comparisons[..if signed { 6 } else { 10 }];
        let line = |(name, _): &(&str, _)| format!("setp.{name}.{ty} %p1, {class}1, {class}2;");
        check_predicates(&comparisons.iter().map(line).collect::<Vec<_>>(), |[a, b, _], index| {
            let order = value(a, bits, signed).cmp(&value(b, bits, signed)) as i8;
            comparisons[index].1[(order + 1) as usize]
        });
    }
}

#[test]
fn predicates_combine() {
    type Combine = fn(bool, bool) -> bool;
    // A comparison alone, with its complement, and each combined with another comparison.
    let with = "setp.lt.u32 %p2, %r2, %r3;";
    let (less, not_less) = (|a: u64, b: u64| (a as u32) < b as u32, |a: u64, b: u64| a as u32 >= b as u32);
    let combine: [(&str, Combine); 3] = [("and", |a, b| a && b), ("or", |a, b| a || b), ("xor", |a, b| a != b)];
    for (name, combine) in combine {
        let lines = [
            format!("{with} setp.lt.{name}.u32 %p1, %r1, %r2, %p2;"),
            format!("{with} setp.lt.{name}.u32 %p1, %r1, %r2, !%p2;"),
            format!("{with} setp.lt.{name}.u32 %p1|%p3, %r1, %r2, %p2;"),
            format!("{with} setp.lt.{name}.u32 %p3|%p1, %r1, %r2, %p2;"),
            format!("{with} setp.lt.u32 %p3, %r1, %r2; {name}.pred %p1, %p3, %p2;"),
            "setp.lt.u32 %p1|%p3, %r1, %r2;".to_owned(),
            "setp.lt.u32 %p3|%p1, %r1, %r2;".to_owned(),
            "setp.lt.u32 %p3, %r1, %r2; not.pred %p1, %p3;".to_owned(),
        ];
        check_predicates(&lines, |[a, b, c], index| match index {
            0 | 2 | 4 => combine(less(a, b), less(b, c)),
            1 => combine(less(a, b), not_less(b, c)),
            3 => combine(not_less(a, b), less(b, c)),
            5 => less(a, b),
            _ => not_less(a, b),
        });
    }
}

#[test]
fn a_guard_leaves_the_other_lanes_as_they_were() {
    type Expected = fn([u64; 3]) -> u64;
    let lines: [(&str, Expected); 6] = [
        ("not.b64 %d5, %d1;", |[a, _, _]| !a),
        ("add.u64 %d5, %d1, %d2;", |[a, b, _]| a.wrapping_add(b)),
        ("mad.lo.u64 %d5, %d1, %d2, %d3;", |[a, b, c]| a.wrapping_mul(b).wrapping_add(c)),
        ("selp.b64 %d5, %d1, %d2, %p3;", |[a, b, _]| if a as u32 == 0 { a } else { b }),
        ("mov.b64 %d5, {%r2, %r1};", |[a, b, _]| a << 32 | b & 0xffff_ffff),
        ("add.cc.u64 %d5, %d1, %d2; addc.u64 %d5, 0, 0;", |[a, b, _]| u64::from(a.checked_add(b).is_none())),
    ];
    for (guard, holds) in [("@%p2", true), ("@!%p2", false)] {
        let guarded = lines.map(|(line, _)| {
            let line = line.replace("; ", &format!("; {guard} "));
            format!("mov.b64 %d5, %d3; setp.lt.u32 %p2, %r2, %r3; setp.eq.u32 %p3, %r1, 0; {guard} {line}")
        });
        check_each(&guarded, |operands, index| {
            let [_, b, c] = operands;
            let (_, expected) = lines[index];
            if ((b as u32) < c as u32) == holds { expected(operands) } else { c }
        });
    }
}

/// The integer types: name, bits, and whether they are signed.
const TYPES: [(&str, u32, bool); 8] = [
    ("u8", 8, false),
    ("s8", 8, true),
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

/// The value of the low bits of a word.
fn value(word: u64, bits: u32, signed: bool) -> i128 {
    let unused = 64 - bits;
    if signed { ((word << unused) as i64 >> unused).into() } else { (word << unused >> unused).into() }
}

#[test]
fn integers_of_every_type_become_every_other() {
    // Registers wider than a type hold its extension.
    for (from, from_bits, from_signed) in TYPES {
        let lines = TYPES.map(|(to, ..)| format!("cvt.{to}.{from} %d5, %d1;"));
        check_each(&lines, |[a, _, _], index| {
            let (_, bits, signed) = TYPES[index];
            value(value(a, from_bits, from_signed) as u64, bits, signed) as u64
        });
        // Saturation is for types that do not hold every value of the source.
        let range = |(_, bits, signed): (&str, u32, bool)| {
            if signed { (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1_i128 << bits) - 1) }
        };
        let (low, high) = range((from, from_bits, from_signed));
        let narrower: Vec<_> = TYPES.into_iter().filter(|&to| range(to).0 > low || range(to).1 < high).collect();
        let lines: Vec<_> = narrower.iter().map(|(to, ..)| format!("cvt.sat.{to}.{from} %d5, %d1;")).collect();
        check_each(&lines, |[a, _, _], index| {
            let (least, most) = range(narrower[index]);
            value(a, from_bits, from_signed).clamp(least, most) as u64
        });
    }
}

#[test]
fn a_source_that_fills_its_register_is_converted_in_one_step() {
    let steps = |body: &str| {
        let counters = run(&module(0, body), Grid::linear(1, 1), &[], &memory(), &Options::default()).unwrap();
        counters.warp_instructions
    };
    let word = steps("mov.b32 %r1, 5; cvt.rn.f32.s32 %r2, %r1; ret;");
    let wide = steps("mov.b64 %d1, 5; cvt.rn.f32.s64 %r2, %d1; ret;");
    assert_eq!(word, wide);
    assert_eq!(word, steps("mov.b64 %d1, 5; cvt.u32.u64 %r2, %d1; ret;"));
    let float = |to: &str| steps(&format!("mov.b32 %r1, 0f3F800000; cvt.rzi.{to}.f32 %r2, %r1; ret;"));
    assert_eq!(float("s32"), float("u32"));
}

#[test]
fn the_register_and_not_the_opcode_decides_the_width() {
    check(".local .align 8 .b8 l[8]; st.local.b64 [l], %d1; ld.local.b32 %d4, [l];", |[a, _, _]| a & 0xffff_ffff);
    check(".local .align 8 .b8 l[8]; st.local.b64 [l], %d1; ld.local.s8 %d4, [l];", |[a, _, _]| {
        i64::from(a as i8) as u64
    });
    check(".local .align 8 .b8 l[8]; st.local.b64 [l], %d1; ld.local.u16 %d4, [l];", |[a, _, _]| a & 0xffff);
    check(
        ".local .align 8 .b8 l[8]; st.local.b64 [l], %d1; st.local.b32 [l], %d2; ld.local.b64 %d4, [l];",
        |[a, b, _]| a & !0xffff_ffff | b & 0xffff_ffff,
    );
    check(
        ".local .align 8 .b8 l[8]; st.local.b64 [l], %d1; st.local.b8 [l+1], %r2; ld.local.b64 %d4, [l];",
        |[a, b, _]| a & !0xff00 | (b & 0xff) << 8,
    );
    check(
        ".local .align 8 .b8 l[8]; st.local.b64 [l], %d1; ld.local.s8 %h4, [l]; cvt.u64.u16 %d4, %h4;",
        |[a, _, _]| u64::from(i16::from(a as i8) as u16),
    );
    check("popc.b64 %r4, %d1; cvt.u64.u32 %d4, %r4;", |[a, _, _]| a.count_ones().into());
    check("clz.b64 %r4, %d1; cvt.u64.u32 %d4, %r4;", |[a, _, _]| a.leading_zeros().into());
    check("mov.b64 {%r4, %r5}, %d1; mov.b64 %d4, {%r5, %r4};", |[a, _, _]| a.rotate_left(32));
    check("mov.b32 {%h4, %h5}, %r1; mov.b32 %r4, {%h5, %h4}; cvt.u64.u32 %d4, %r4;", |[a, _, _]| {
        (a as u32).rotate_left(16).into()
    });
    check("mov.b64 {%h4, %h5, %h6, %h7}, %d1; mov.b64 %d4, {%h7, %h6, %h5, %h4};", |[a, _, _]| {
        (0..4).fold(0, |word, i| word | (a >> (16 * i) & 0xffff) << (48 - 16 * i))
    });
}
