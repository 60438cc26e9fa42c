//! Scalar products by a warp: lane i takes each 32nd term from term i on.

use crate::dev::{idx, numeric::math::fma, warp::reduce};

/// The scalar product of two vectors of `len`; every lane gets it.
///
/// # Safety
/// Both vectors hold `len` elements; all lanes of the warp call.
#[inline(always)]
pub unsafe fn product(len: u32, x: *const f32, y: *const f32) -> f32 {
    let (mut sum, mut i) = (0.0, idx::lane());
    while i < len {
        sum = fma(*x.add(i as usize), *y.add(i as usize), sum);
        i += 32;
    }
    total(sum)
}

/// The sum over the lanes.
#[inline(always)]
pub fn total(sum: f32) -> f32 {
    reduce(sum, |a: f32, b| a + b)
}
