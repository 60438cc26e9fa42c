//! Float operations and conversions against the host's arithmetic, done wider and rounded here.

use std::num::FpCategory;

use cuda_sim::exec::{Grid, Options};
use half::{bf16, f16};

use super::vectors::{check, check_by, check_predicate, check_predicates, check16, check32, check64};
use crate::exec::rig::{module, results};

/// The bits of an `f32` result; PTX has a single NaN.
fn bits(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

fn f(word: u32) -> f32 {
    f32::from_bits(word)
}

/// A value with subnormals made zero.
fn flushed(word: u32) -> f32 {
    if f(word).is_subnormal() { 0_f32.copysign(f(word)) } else { f(word) }
}

#[test]
fn single_precision_rounds_once() {
    // Sums and products of two f32 rounded from f64 are right: 53 >= 2 * 24 + 2.
    let narrow = |wide: f64| bits(wide as f32);
    check32("add.f32 %r4, %r1, %r2;", |a, b, _| narrow(f64::from(f(a)) + f64::from(f(b))));
    check32("sub.rn.f32 %r4, %r1, %r2;", |a, b, _| narrow(f64::from(f(a)) - f64::from(f(b))));
    check32("mul.rn.f32 %r4, %r1, %r2;", |a, b, _| narrow(f64::from(f(a)) * f64::from(f(b))));
    check32("div.rn.f32 %r4, %r1, %r2;", |a, b, _| narrow(f64::from(f(a)) / f64::from(f(b))));
    check32("sqrt.rn.f32 %r4, %r1;", |a, _, _| narrow(f64::from(f(a)).sqrt()));
    check32("rcp.rn.f32 %r4, %r1;", |a, _, _| narrow(1.0 / f64::from(f(a))));
    check32("fma.rn.f32 %r4, %r1, %r2, %r3;", |a, b, c| bits(f(a).mul_add(f(b), f(c))));
    check32("neg.f32 %r4, %r1;", |a, _, _| a ^ 0x8000_0000);
    check32("abs.f32 %r4, %r1;", |a, _, _| a & 0x7fff_ffff);
    check32("copysign.f32 %r4, %r1, %r2;", |a, b, _| a & 0x8000_0000 | b & 0x7fff_ffff);
}

#[test]
fn tf32_rounds_to_ten_bits_and_ties_away_from_zero() {
    check32("cvt.rna.tf32.f32 %r4, %r1;", |a, _, _| {
        let x = f(a);
        if !x.is_finite() {
            return bits(x);
        }
        let exponent = (a >> 23 & 0xff).max(1) as i32 - 127;
        let unit = 2f64.powi(exponent - 10);
        let rounded = (f64::from(x).abs() / unit + 0.5).floor() * unit;
        a & 0x8000_0000 | bits(rounded as f32)
    });
}

#[test]
fn subnormals_flush_only_where_asked() {
    let flush = |value: f32| bits(flushed(value.to_bits()));
    check32("add.ftz.f32 %r4, %r1, %r2;", |a, b, _| flush(flushed(a) + flushed(b)));
    check32("mul.rn.ftz.f32 %r4, %r1, %r2;", |a, b, _| flush(flushed(a) * flushed(b)));
    check32("fma.rn.ftz.f32 %r4, %r1, %r2, %r3;", |a, b, c| flush(flushed(a).mul_add(flushed(b), flushed(c))));
    check32("cvt.ftz.f32.f32 %r4, %r1; testp.notanumber.f32 %p1, %r1; @%p1 mov.b32 %r4, 0;", |a, _, _| {
        if f(a).is_nan() { 0 } else { flush(f(a)) }
    });
    check("cvt.ftz.f64.f32 %d4, %r1; testp.notanumber.f32 %p1, %r1; @%p1 mov.b64 %d4, 0;", |[a, _, _]| {
        let value = flushed(a as u32);
        if value.is_nan() { 0 } else { f64::from(value).to_bits() }
    });
    check32("cvt.rpi.ftz.s32.f32 %r4, %r1;", |a, _, _| flushed(a).ceil() as i32 as u32);
    check32("add.sat.f32 %r4, %r1, %r2;", |a, b, _| {
        let sum = f(a) + f(b);
        if sum > 0.0 { bits(sum.min(1.0)) } else { 0 }
    });
}

#[test]
fn extrema_prefer_numbers_and_order_zeros() {
    let max = |a: f32, b: f32| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == 0.0 && b == 0.0 && a.is_sign_positive() || a > b => a,
        _ => b,
    };
    check32("max.f32 %r4, %r1, %r2;", |a, b, _| bits(max(f(a), f(b))));
    check32("min.f32 %r4, %r1, %r2;", |a, b, _| bits(-max(-f(a), -f(b))));
    check32("max.NaN.f32 %r4, %r1, %r2;", |a, b, _| {
        if f(a).is_nan() || f(b).is_nan() { 0x7fff_ffff } else { bits(max(f(a), f(b))) }
    });
}

#[test]
fn double_precision() {
    let d = f64::from_bits;
    let same = |body: &str, expected: fn(f64, f64, f64) -> f64| {
        check_by(body, |[a, b, c], got| {
            let expected = expected(d(a), d(b), d(c));
            assert!(got == expected.to_bits() || expected.is_nan() && d(got).is_nan(), "{body} {a:x} {b:x} {c:x}");
        });
    };
    same("add.rn.f64 %d4, %d1, %d2;", |a, b, _| a + b);
    same("mul.rn.f64 %d4, %d1, %d2;", |a, b, _| a * b);
    same("div.rn.f64 %d4, %d1, %d2;", |a, b, _| a / b);
    same("sqrt.rn.f64 %d4, %d1;", |a, _, _| a.sqrt());
    same("fma.rn.f64 %d4, %d1, %d2, %d3;", f64::mul_add);
    same("neg.f64 %d4, %d1;", |a, _, _| -a);
    same("abs.f64 %d4, %d1;", |a, _, _| a.abs());
    same("sub.f64 %d4, %d1, %d2;", |a, b, _| a - b);
    same("rcp.rn.f64 %d4, %d1;", |a, _, _| 1.0 / a);
    same("copysign.f64 %d4, %d1, %d2;", |a, b, _| b.copysign(a));
    same("max.f64 %d4, %d1, %d2;", |a, b, _| if a.is_nan() || a < b || a == b && a.is_sign_negative() { b } else { a });
    same("min.f64 %d4, %d1, %d2;", |a, b, _| if a.is_nan() || a > b || a == b && a.is_sign_positive() { b } else { a });
}

#[test]
fn ordered_and_unordered_comparisons() {
    type BitsToFloat = fn(u64) -> f64;
    // Whether each holds for less, equal, greater, and values without an order.
    let comparisons = [
        ("eq", [false, true, false, false]),
        ("ne", [true, false, true, false]),
        ("lt", [true, false, false, false]),
        ("le", [true, true, false, false]),
        ("gt", [false, false, true, false]),
        ("ge", [false, true, true, false]),
        ("equ", [false, true, false, true]),
        ("neu", [true, false, true, true]),
        ("ltu", [true, false, false, true]),
        ("leu", [true, true, false, true]),
        ("gtu", [false, false, true, true]),
        ("geu", [false, true, true, true]),
        ("num", [true, true, true, false]),
        ("nan", [false, false, false, true]),
    ];
    let types: [(&str, &str, BitsToFloat); 3] = [
        ("f16", "%h", |word| f16::from_bits(word as u16).to_f64()),
        ("f32", "%r", |word| f(word as u32).into()),
        ("f64", "%d", f64::from_bits),
    ];
    for (ty, class, widen) in types {
        let lines = comparisons.map(|(name, _)| format!("setp.{name}.{ty} %p1, {class}1, {class}2;"));
        check_predicates(&lines, |[a, b, _], index| {
            let order = widen(a).partial_cmp(&widen(b)).map_or(2, |order| order as i8);
            comparisons[index].1[(order + 1) as usize]
        });
    }
    check_predicate("setp.lt.ftz.f32 %p1, %r1, 0f00000001;", |a, _| flushed(a as u32) < 0.0);
}

#[test]
fn classes_of_floats() {
    let classes = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
    for (ty, operand) in [("f32", "%r1"), ("f64", "%d1"), ("f32", "%r5"), ("f64", "%d6")] {
        // The last two are infinite by construction, with the sign of a random word.
        let infinite = "mov.b32 %r5, 0f7F800000; copysign.f32 %r5, %r1, %r5;
            mov.b64 %d6, 0d7FF0000000000000; copysign.f64 %d6, %d1, %d6;";
        let lines = classes.map(|class| format!("{infinite} testp.{class}.{ty} %p1, {operand};"));
        check_predicates(&lines, |[a, _, _], index| {
            let class = match operand {
                "%r1" => f(a as u32).classify(),
                "%d1" => f64::from_bits(a).classify(),
                _ => FpCategory::Infinite,
            };
            match classes[index] {
                "finite" => !matches!(class, FpCategory::Infinite | FpCategory::Nan),
                "infinite" => class == FpCategory::Infinite,
                "number" => class != FpCategory::Nan,
                "notanumber" => class == FpCategory::Nan,
                "normal" => class == FpCategory::Normal,
                _ => class == FpCategory::Subnormal,
            }
        });
    }
}

#[test]
fn integers_widen_and_narrow() {
    check64("cvt.s64.s32 %d4, %r1;", |a, _, _| i64::from(a as i32) as u64);
    check64("cvt.u64.u32 %d4, %r1;", |a, _, _| a & 0xffff_ffff);
    check64("cvt.s64.s8 %d4, %r1;", |a, _, _| i64::from(a as i8) as u64);
    check32("cvt.u32.u64 %r4, %d1;", |a, _, _| a);
    check32("cvt.s32.s16 %r4, %h1;", |a, _, _| i32::from(a as i16) as u32);
    check32("cvt.u32.u16 %r4, %h1;", |a, _, _| a & 0xffff);
    check32("cvt.s16.s8 %r4, %r1;", |a, _, _| i32::from(a as i8) as u32);
    check32("cvt.u32.u8 %r4, %r1;", |a, _, _| a & 0xff);
    check16("cvt.u16.u32 %h4, %r1;", |a, _, _| a);
    check32("cvt.sat.s8.s32 %r4, %r1;", |a, _, _| (a as i32).clamp(-128, 127) as u32);
    check32("cvt.sat.u8.s32 %r4, %r1;", |a, _, _| (a as i32).clamp(0, 255) as u32);
    check32("cvt.sat.u32.s32 %r4, %r1;", |a, _, _| (a as i32).max(0) as u32);
}

#[test]
fn floats_to_integers_saturate_and_nan_gives_zero() {
    // Clamped in f64, where every bound is exact.
    let clamp = |value: f64, low: f64, high: f64| if value.is_nan() { 0 } else { value.clamp(low, high) as i128 };
    let s32 = |value: f64| clamp(value, i32::MIN.into(), i32::MAX.into()) as u32;
    let wide = |a: u32| f64::from(f(a));
    check32("cvt.rzi.s32.f32 %r4, %r1;", |a, _, _| s32(wide(a).trunc()));
    check32("cvt.rni.s32.f32 %r4, %r1;", |a, _, _| s32(wide(a).round_ties_even()));
    check32("cvt.rmi.s32.f32 %r4, %r1;", |a, _, _| s32(wide(a).floor()));
    check32("cvt.rpi.s32.f32 %r4, %r1;", |a, _, _| s32(wide(a).ceil()));
    check32("cvt.rzi.u32.f32 %r4, %r1;", |a, _, _| clamp(wide(a).trunc(), 0.0, u32::MAX.into()) as u32);
    check32("cvt.rzi.u8.f32 %r4, %r1;", |a, _, _| clamp(wide(a).trunc(), 0.0, 255.0) as u32);
    check32("cvt.rzi.s16.f32 %r4, %r1;", |a, _, _| clamp(wide(a).trunc(), -32768.0, 32767.0) as u32);
    check64("cvt.rzi.s64.f32 %d4, %r1;", |a, _, _| f(a as u32) as i64 as u64);
    check64("cvt.rzi.u64.f64 %d4, %d1;", |a, _, _| f64::from_bits(a) as u64);
    check("cvt.rzi.s32.f64 %r4, %d1; cvt.u64.u32 %d4, %r4;", |[a, _, _]| s32(f64::from_bits(a).trunc()).into());
    check32("cvt.rmi.f32.f32 %r4, %r1;", |a, _, _| bits(f(a).floor()));
}

#[test]
fn integers_and_floats_to_floats() {
    check32("cvt.rn.f32.u32 %r4, %r1;", |a, _, _| bits(f64::from(a) as f32));
    check32("cvt.rn.f32.s32 %r4, %r1;", |a, _, _| bits(f64::from(a as i32) as f32));
    check("cvt.rn.f32.s64 %r4, %d1; cvt.u64.u32 %d4, %r4;", |[a, _, _]| bits(a as i64 as f32).into());
    check("cvt.rn.f64.u64 %d4, %d1;", |[a, _, _]| (a as f64).to_bits());
    check("cvt.rn.f64.s32 %d4, %r1;", |[a, _, _]| f64::from(a as i32).to_bits());
    check("cvt.rn.f32.f64 %r4, %d1; cvt.u64.u32 %d4, %r4;", |[a, _, _]| bits(f64::from_bits(a) as f32).into());
    check16("cvt.rn.f16.u16 %h4, %h1;", |a, _, _| f16::from_f64(a.into()).to_bits());
}

/// The 16-bit float nearest to a value, found by trying the neighbours of the host's conversion.
fn nearest(value: f64, widen: impl Fn(u16) -> f64, guess: u16) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    let candidates = [guess.wrapping_sub(1), guess, guess.wrapping_add(1)];
    let finite = candidates.into_iter().filter(|&c| widen(c).is_finite() && (c ^ guess) & 0x8000 == 0);
    let distance = |c: u16| (widen(c) - value).abs();
    let best = finite.min_by(|&x, &y| distance(x).total_cmp(&distance(y)).then((x & 1).cmp(&(y & 1))));
    if widen(guess).is_infinite() { guess } else { best.unwrap_or(guess) }
}

/// The value of an `f16`.
fn h(word: u16) -> f64 {
    f16::from_bits(word).to_f64()
}

/// The value of a `bf16`.
fn b(word: u16) -> f64 {
    bf16::from_bits(word).to_f64()
}

/// The nearest `f16`.
fn to_h(value: f64) -> u16 {
    nearest(value, h, f16::from_f64(value).to_bits())
}

/// The nearest `bf16`.
fn to_b(value: f64) -> u16 {
    nearest(value, b, bf16::from_f64(value).to_bits())
}

#[test]
fn sixteen_bit_floats_round_once() {
    check16("add.rn.f16 %h4, %h1, %h2;", |x, y, _| to_h(h(x) + h(y)));
    check16("mul.rn.f16 %h4, %h1, %h2;", |x, y, _| to_h(h(x) * h(y)));
    check16("fma.rn.f16 %h4, %h1, %h2, %h3;", |x, y, z| to_h(h(x).mul_add(h(y), h(z))));
    check16("sub.rn.f16 %h4, %h1, %h2;", |x, y, _| to_h(h(x) - h(y)));
    check16("neg.bf16 %h4, %h1;", |x, _, _| x ^ 0x8000);
    check16("abs.f16 %h4, %h1;", |x, _, _| x & 0x7fff);
    check16("cvt.rni.f16.f16 %h4, %h1;", |x, _, _| to_h(h(x).round_ties_even()));
    check16("cvt.rmi.f16.f16 %h4, %h1;", |x, _, _| to_h(h(x).floor()));
    check32("cvt.rn.f16x2.f32 %r4, %r1, %r2;", |x, y, _| {
        u32::from(to_h(f(x).into())) << 16 | u32::from(to_h(f(y).into()))
    });
    check32("cvt.rn.bf16x2.f32 %r4, %r1, %r2;", |x, y, _| {
        u32::from(to_b(f(x).into())) << 16 | u32::from(to_b(f(y).into()))
    });
    check("cvt.rn.bf16.f32 %h4, %r1; cvt.u64.u16 %d4, %h4;", |[x, _, _]| to_b(f(x as u32).into()).into());
    check32("cvt.f32.f16 %r4, %h1;", |x, _, _| bits(h(x as u16) as f32));
    check32("cvt.f32.bf16 %r4, %h1;", |x, _, _| bits(b(x as u16) as f32));
    check32("mul.rn.f16x2 %r4, %r1, %r2;", |x, y, _| {
        let half = |shift: u32| to_h(h((x >> shift) as u16) * h((y >> shift) as u16));
        u32::from(half(16)) << 16 | u32::from(half(0))
    });
}

#[test]
fn sixteen_bit_fused_products_are_rounded_once_at_ties() {
    // Products half way between two neighbours, and summands far below them that decide.
    for (ty, [a, b, c], expected) in [
        ("f16", [0x3e00, 0x3c01, 0x0001], 0x3e02),
        ("f16", [0x3e00, 0x3c01, 0x0000], 0x3e02),
        ("f16", [0x3e00, 0x3c01, 0x8001], 0x3e01),
        ("f16", [0x3e00, 0x3c03, 0x0001], 0x3e05),
        ("f16", [0x3e00, 0x3c03, 0x8000], 0x3e04),
        ("f16", [0xbe00, 0x3c03, 0x8001], 0xbe05),
        ("f16", [0x4200, 0x3c03, 0x0003], 0x4205),
        ("f16", [0x7c00, 0x3c00, 0x3c00], 0x7c00),
        ("f16", [0x7c00, 0x3c00, 0xfc00], 0x7fff),
        ("f16", [0x7bff, 0x3c00, 0x4c00], 0x7c00),
        ("f16", [0x7bff, 0x3c00, 0x4bff], 0x7bff),
        ("bf16", [0x3fc0, 0x3f81, 0x0d80], 0x3fc2),
        ("bf16", [0x3fc0, 0x3f81, 0x8d80], 0x3fc1),
        ("bf16", [0x3fc0, 0x3f83, 0x0d80], 0x3fc5),
        ("bf16", [0x3fc0, 0x3f83, 0x8d80], 0x3fc4),
        ("bf16", [0xbfc0, 0x3f83, 0x8d80], 0xbfc5),
        ("bf16", [0x3fc0, 0x3f83, 0x2540], 0x3fc5),
        ("bf16", [0x7f80, 0x3f80, 0x3f80], 0x7f80),
    ] {
        let body = format!(
            "mov.b16 %h1, {a}; mov.b16 %h2, {b}; mov.b16 %h3, {c};
             fma.rn.{ty} %h4, %h1, %h2, %h3; cvt.u64.u16 %d4, %h4;"
        );
        check(&body, |_| expected);
    }
}

#[test]
fn sixteen_bit_floats_round_toward_zero_and_clamp_below() {
    let b_rz = |x: f32| if x.is_nan() { 0x7fff } else { (x.to_bits() >> 16) as u16 };
    let h_rz = |x: f32| {
        if x.is_nan() {
            return 0x7fff;
        }
        let unit = 2_f64.powi((f64::from(x).abs().log2().floor() as i32).clamp(-14, 15) - 10);
        let cut = (f64::from(x) / unit).trunc() * unit;
        f16::from_f64(if x.is_finite() { cut.clamp(-65504.0, 65504.0) } else { cut }).to_bits()
    };
    for (mode, relu) in [("rn", ""), ("rz", ""), ("rn", ".relu"), ("rz", ".relu")] {
        let narrow = |word: u64, to_bf16: bool| {
            let x = f(word as u32);
            let x = if !relu.is_empty() && x <= 0.0 { 0.0 } else { x };
            match (mode, to_bf16) {
                ("rn", false) => to_h(x.into()),
                ("rn", true) => to_b(x.into()),
                (_, false) => h_rz(x),
                (_, true) => b_rz(x),
            }
        };
        let pair = |a, b, to_bf16| u64::from(narrow(a, to_bf16)) << 16 | u64::from(narrow(b, to_bf16));
        let alone = |ty: &str| format!("cvt.{mode}{relu}.{ty}.f32 %h4, %r1; cvt.u64.u16 %d4, %h4;");
        let both = |ty: &str| format!("cvt.{mode}{relu}.{ty}.f32 %r4, %r1, %r2; cvt.u64.u32 %d4, %r4;");
        check(&alone("bf16"), |[a, _, _]| narrow(a, true).into());
        check(&both("bf16x2"), |[a, b, _]| pair(a, b, true));
        check(&both("f16x2"), |[a, b, _]| pair(a, b, false));
        if relu.is_empty() {
            check(&alone("f16"), |[a, _, _]| narrow(a, false).into());
        }
    }
}

#[test]
fn approximations_are_within_two_units() {
    let close = |body: &str, expected: fn(f64) -> f64| {
        check_by(&format!("{body} cvt.u64.u32 %d4, %r4;"), |[a, _, _], got| {
            let (x, got) = (f(a as u32), f(got as u32));
            if x.is_subnormal() {
                return;
            }
            let expected = expected(x.into()) as f32;
            let both_nan = expected.is_nan() && got.is_nan();
            let flushed = expected.is_subnormal() && got == 0.0;
            let apart = expected.to_bits().abs_diff(got.to_bits());
            assert!(both_nan || flushed || apart <= 2, "{body} of {x:e}: expected {expected:e}, got {got:e}");
        });
    };
    close("ex2.approx.ftz.f32 %r4, %r1;", f64::exp2);
    close("lg2.approx.f32 %r4, %r1;", f64::log2);
    close("sin.approx.f32 %r4, %r1;", f64::sin);
    close("cos.approx.f32 %r4, %r1;", f64::cos);
    close("rcp.approx.f32 %r4, %r1;", |x| 1.0 / x);
    close("rsqrt.approx.f32 %r4, %r1;", |x| 1.0 / x.sqrt());
    close("sqrt.approx.f32 %r4, %r1;", f64::sqrt);
    close("tanh.approx.f32 %r4, %r1;", f64::tanh);
}

#[test]
fn noise_moves_approximations_by_at_most_two_units_and_nothing_else() {
    let body = "ld.param.u64 %d0, [p0]; mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %r1, %r0; add.f32 %r1, %r1, 0f3F000000;
        rsqrt.approx.f32 %r2, %r1; div.approx.f32 %r3, %r1, 0f40400000; div.full.f32 %r4, 0f40400000, %r1;
        div.rn.f32 %r5, %r1, 0f40400000; mul.wide.u32 %d1, %r0, 16; add.s64 %d1, %d1, %d0;
        st.global.v4.b32 [%d1], {%r2, %r3, %r4, %r5}; ret;";
    let words = |noise| {
        let options = Options { perturb_approximations: noise, ..Options::default() };
        results(&module(1, body), Grid::linear(1, 256), &[], 1024, &options).unwrap()
    };
    let (plain, noisy) = (words(None), words(Some(5)));
    assert_eq!(noisy, words(Some(5)), "the noise hangs on the seed alone");
    let mut moved = [0; 4];
    for (index, (plain, noisy)) in plain.iter().zip(&noisy).enumerate() {
        let apart = plain.abs_diff(*noisy);
        assert!(apart <= if index % 4 < 3 { 2 } else { 0 }, "word {index}: {plain:x} became {noisy:x}");
        moved[index % 4] += u32::from(apart > 0);
    }
    for moved in &moved[..3] {
        assert!((150..=256).contains(moved), "{moved} of 256 moved, four fifths expected");
    }
}
