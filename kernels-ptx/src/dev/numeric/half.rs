//! 16-bit floats as bit patterns: conversion rounds to nearest, ties to even.

use core::arch::asm;

/// The float of a bfloat16.
#[inline(always)]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

macro_rules! conversions {
    ($(
        $(#[$doc:meta])*
        $name:ident($($x:ident: $of:ty),+) -> $to:ty = $text:literal, $target:ident <- $source:ident $($operand:ident),+;
    )*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($($x: $of),+) -> $to {
            let y;
            // SAFETY: arithmetic.
            unsafe {
                asm!($text, out($target) y, $(in($source) $operand,)+ options(pure, nomem, nostack, preserves_flags));
            }
            y
        }
    )*};
}

conversions! {
    /// The bfloat16 nearest to a float.
    f32_to_bf16(x: f32) -> u16 = "cvt.rn.bf16.f32 {}, {};", reg16 <- reg32 x;
    /// The float of a binary16.
    f16_to_f32(bits: u16) -> f32 = "cvt.f32.f16 {}, {};", reg32 <- reg16 bits;
    /// The binary16 nearest to a float.
    f32_to_f16(x: f32) -> u16 = "cvt.rn.f16.f32 {}, {};", reg16 <- reg32 x;
    /// Two bfloat16 in one word, `low` in the low half.
    pack_bf16(low: f32, high: f32) -> u32 = "cvt.rn.bf16x2.f32 {}, {}, {};", reg32 <- reg32 high, low;
    /// Two binary16 in one word, `low` in the low half.
    pack_f16(low: f32, high: f32) -> u32 = "cvt.rn.f16x2.f32 {}, {}, {};", reg32 <- reg32 high, low;
}
