//! Sample 1 of the family `math`, seed 1, by `cargo xtask kernels`.

use crate::functions::{exp, sigmoid, tanh};
use crate::math::{abs, fma, sqrt};

/// Combines the numbers of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = tanh(v0);
    let v3 = -0.9277344_f32;
    let v4 = fma(v0, v3, v3);
    let v5 = abs(v3);
    let v6 = sqrt(abs(v3));
    let v7 = -v4;
    let v8 = v5 / fma(v2, v2, 1.0);
    let v9 = if v1 < v6 { v1 } else { v6 };
    let v10 = -0.015625_f32;
    let v11 = if v8 < v5 { v0 } else { v10 };
    let v12 = sigmoid(v9);
    let v13 = -0.8798828_f32;
    let v14 = v12 * v13;
    let v15 = exp(v14);
    to(i, v14.to_bits());
    to(len + i, v15.to_bits());
}
