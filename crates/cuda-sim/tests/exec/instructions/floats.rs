//! Float operations and conversions against the host's arithmetic, done wider and rounded here.

use cuda_sim::exec::{Grid, Options};
use half::{bf16, f16};

use super::vectors::{check, check_by, check_predicate, check16, check32, check64};
use crate::exec::rig::{module, results};

/// The bits of an `f32` result; PTX has a single NaN.
fn bits(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

fn f(word: u32) -> f32 {
    f32::from_bits(word)
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
    let flush = |word: u32| if word & 0x7f80_0000 == 0 { word & 0x8000_0000 } else { word };
    check32("add.ftz.f32 %r4, %r1, %r2;", |a, b, _| flush(bits(f(flush(a)) + f(flush(b)))));
    check32("mul.rn.ftz.f32 %r4, %r1, %r2;", |a, b, _| flush(bits(f(flush(a)) * f(flush(b)))));
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
}

#[test]
fn ordered_and_unordered_comparisons() {
    let pair = |a: u64, b: u64| (f(a as u32), f(b as u32));
    check_predicate("setp.lt.f32 %p1, %r1, %r2;", |a, b| pair(a, b).0 < pair(a, b).1);
    check_predicate("setp.ne.f32 %p1, %r1, %r2;", |a, b| {
        let (a, b) = pair(a, b);
        a.partial_cmp(&b).is_some_and(std::cmp::Ordering::is_ne)
    });
    check_predicate("setp.neu.f32 %p1, %r1, %r2;", |a, b| pair(a, b).0 != pair(a, b).1);
    check_predicate("setp.geu.f32 %p1, %r1, %r2;", |a, b| {
        pair(a, b).0.partial_cmp(&pair(a, b).1) != Some(std::cmp::Ordering::Less)
    });
    check_predicate("setp.nan.f32 %p1, %r1, %r2;", |a, b| pair(a, b).0.is_nan() || pair(a, b).1.is_nan());
    check_predicate("setp.num.f64 %p1, %d1, %d2;", |a, b| !f64::from_bits(a).is_nan() && !f64::from_bits(b).is_nan());
    check_predicate("setp.gt.f16 %p1, %h1, %h2;", |a, b| {
        f16::from_bits(a as u16).to_f64() > f16::from_bits(b as u16).to_f64()
    });
    check_predicate("testp.subnormal.f32 %p1, %r1;", |a, _| f(a as u32).is_subnormal());
    check_predicate("testp.infinite.f64 %p1, %d1;", |a, _| f64::from_bits(a).is_infinite());
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

#[test]
fn sixteen_bit_floats_round_once() {
    let h = |word: u16| f16::from_bits(word).to_f64();
    let b = |word: u16| bf16::from_bits(word).to_f64();
    let to_h = |value: f64| nearest(value, h, f16::from_f64(value).to_bits());
    let to_b = |value: f64| nearest(value, b, bf16::from_f64(value).to_bits());
    check16("add.rn.f16 %h4, %h1, %h2;", |x, y, _| to_h(h(x) + h(y)));
    check16("mul.rn.f16 %h4, %h1, %h2;", |x, y, _| to_h(h(x) * h(y)));
    check16("fma.rn.f16 %h4, %h1, %h2, %h3;", |x, y, z| to_h(h(x).mul_add(h(y), h(z))));
    check16("neg.bf16 %h4, %h1;", |x, _, _| x ^ 0x8000);
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
        rsqrt.approx.f32 %r2, %r1; sqrt.rn.f32 %r3, %r1; mul.wide.u32 %d1, %r0, 8; add.s64 %d1, %d1, %d0;
        st.global.v2.b32 [%d1], {%r2, %r3}; ret;";
    let words = |noise| {
        let options = Options { perturb_approximations: noise, ..Options::default() };
        results(&module(1, body), Grid::linear(1, 256), &[], 512, &options).unwrap()
    };
    let (plain, noisy) = (words(None), words(Some(5)));
    assert_eq!(noisy, words(Some(5)), "the noise hangs on the seed alone");
    let mut moved = 0;
    for (index, (plain, noisy)) in plain.iter().zip(&noisy).enumerate() {
        let apart = plain.abs_diff(*noisy);
        assert!(apart <= if index.is_multiple_of(2) { 2 } else { 0 }, "word {index}: {plain:x} became {noisy:x}");
        moved += u32::from(apart > 0);
    }
    assert!((150..=256).contains(&moved), "{moved} of 256 moved, four fifths expected");
}
