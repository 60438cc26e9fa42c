//! Functions of floats, single-precision unless the name states otherwise.
//!
//! All but [`exp2_approx`] are correctly rounded.

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

/// 2^x by the unit for approximate functions, with at most 2 ulp of error.
///
/// Subnormal arguments count as 0, and 0 replaces a subnormal result.
#[inline(always)]
pub fn exp2_approx(x: f32) -> f32 {
    let y;
    // SAFETY: arithmetic.
    unsafe {
        asm!("ex2.approx.ftz.f32 {}, {};", out(reg32) y, in(reg32) x, options(pure, nomem, nostack, preserves_flags));
    }
    y
}
