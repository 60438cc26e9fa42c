//! Functions of floats, single-precision unless the name states otherwise.
//!
//! Approximate functions state their error; all
//! others are correctly rounded.

use core::arch::asm;

use crate::dev::intrinsics as llvm;

/// `a * b + c`, rounded once. Plain `*` and `+` are never fused.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    // SAFETY: arithmetic.
    unsafe { llvm::fma_f32(a, b, c) }
}

/// The square root.
#[inline(always)]
pub fn sqrt(x: f32) -> f32 {
    // SAFETY: arithmetic.
    unsafe { llvm::sqrt_f32(x) }
}

/// The square root of a double.
#[inline(always)]
pub fn sqrt_f64(x: f64) -> f64 {
    // SAFETY: arithmetic.
    unsafe { llvm::sqrt_f64(x) }
}

/// The magnitude.
#[inline(always)]
pub fn abs(x: f32) -> f32 {
    // SAFETY: arithmetic.
    unsafe { llvm::fabs_f32(x) }
}

/// The greatest integer at or below `x`.
#[inline(always)]
pub fn floor(x: f32) -> f32 {
    // SAFETY: arithmetic.
    unsafe { llvm::floor_f32(x) }
}

/// The least integer at or above `x`.
#[inline(always)]
pub fn ceil(x: f32) -> f32 {
    // SAFETY: arithmetic.
    unsafe { llvm::ceil_f32(x) }
}

/// `x` without its fraction.
#[inline(always)]
pub fn trunc(x: f32) -> f32 {
    // SAFETY: arithmetic.
    unsafe { llvm::trunc_f32(x) }
}

/// The integer nearest to `x`, ties to even.
#[inline(always)]
pub fn round_even(x: f32) -> f32 {
    // SAFETY: arithmetic.
    unsafe { llvm::round_even_f32(x) }
}

macro_rules! approximations {
    ($($(#[$doc:meta])* $name:ident = $instruction:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: f32) -> f32 {
            let y;
            // SAFETY: arithmetic.
            unsafe {
                asm!(concat!($instruction, " {}, {};"), out(reg32) y, in(reg32) x,
                    options(pure, nomem, nostack, preserves_flags));
            }
            y
        }
    )*};
}

approximations! {
    /// `2^x`, relative error at most 2^-22.5; subnormals count as zero.
    ex2 = "ex2.approx.ftz.f32";
    /// The logarithm to base 2.
    ///
    /// The absolute error is at most 2^-22 outside (0.5, 2), the relative error 2^-22 inside.
    lg2 = "lg2.approx.ftz.f32";
    /// `1 / x`, at most one unit in the last place off.
    rcp = "rcp.approx.ftz.f32";
    /// `1 / sqrt(x)`, relative error at most 2^-22.9.
    rsqrt = "rsqrt.approx.ftz.f32";
    /// The hyperbolic tangent, relative error at most 2^-11.
    tanh = "tanh.approx.f32";
    /// The sine, absolute error at most 2^-20.5 in [-pi, pi].
    sin = "sin.approx.ftz.f32";
    /// The cosine, absolute error at most 2^-20.5 in [-pi, pi].
    cos = "cos.approx.ftz.f32";
}
