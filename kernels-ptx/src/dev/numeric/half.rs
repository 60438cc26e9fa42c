//! 16-bit floats as bit patterns: conversion rounds to nearest, ties to even.

use core::arch::asm;

/// The float of a bfloat16.
#[inline(always)]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The bfloat16 nearest to a float.
#[inline(always)]
pub fn f32_to_bf16(x: f32) -> u16 {
    let bits;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.rn.bf16.f32 {}, {};", out(reg16) bits, in(reg32) x, options(pure, nomem, nostack, preserves_flags))
    };
    bits
}

/// The float of a binary16.
#[inline(always)]
pub fn f16_to_f32(bits: u16) -> f32 {
    let x;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.f32.f16 {}, {};", out(reg32) x, in(reg16) bits, options(pure, nomem, nostack, preserves_flags))
    };
    x
}

/// The binary16 nearest to a float.
#[inline(always)]
pub fn f32_to_f16(x: f32) -> u16 {
    let bits;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.rn.f16.f32 {}, {};", out(reg16) bits, in(reg32) x, options(pure, nomem, nostack, preserves_flags))
    };
    bits
}

/// Two bfloat16 in one word, `low` in the low half.
#[inline(always)]
pub fn pack_bf16(low: f32, high: f32) -> u32 {
    let word;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.rn.bf16x2.f32 {}, {}, {};", out(reg32) word, in(reg32) high, in(reg32) low,
            options(pure, nomem, nostack, preserves_flags));
    }
    word
}

/// Two binary16 in one word, `low` in the low half.
#[inline(always)]
pub fn pack_f16(low: f32, high: f32) -> u32 {
    let word;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.rn.f16x2.f32 {}, {}, {};", out(reg32) word, in(reg32) high, in(reg32) low,
            options(pure, nomem, nostack, preserves_flags));
    }
    word
}
