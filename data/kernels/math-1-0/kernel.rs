//! Sample 0 of the family `math`, seed 1, by `cargo xtask kernels`.

use crate::functions::{exp, log, sigmoid};
use crate::math::{abs, sqrt};

/// Combines the numbers of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = f32::from_bits(from(2 * len + i));
    let v3 = f32::from_bits(from(3 * len + i));
    let v4 = log(1.0 + abs(v1));
    let v5 = abs(v4);
    let v6 = abs(v5);
    let v7 = sqrt(abs(v6));
    let v8 = sigmoid(v6);
    let v9 = log(1.0 + abs(v6));
    let v10 = v8 + v3;
    let v11 = log(1.0 + abs(v10));
    let v12 = exp(v9);
    let v13 = if v10 < v3 { v12 } else { v6 };
    to(i, v12.to_bits());
    to(len + i, v13.to_bits());
}
