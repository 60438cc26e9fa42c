//! Sample 0 of the family `pairs`, seed 1, by `cargo xtask kernels`.

use crate::functions::{sigmoid, tanh};
use crate::math::fma;

/// A function of the numbers of thread `i`.
#[inline(always)]
pub fn forward(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = f32::from_bits(from(2 * len + i));
    let v3 = sigmoid(v1);
    let v4 = tanh(v1);
    let v5 = v3 / fma(v4, v4, 1.0);
    let v6 = v4 - v3;
    let v7 = v4 / fma(v5, v5, 1.0);
    let v8 = if v2 > v7 { v2 } else { v7 };
    let v9 = v7 * v1;
    to(i, v9.to_bits());
}

/// The gradients of the numbers of thread `i`, from the gradient of the result.
#[inline(always)]
pub fn backward(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = f32::from_bits(from(2 * len + i));
    let v3 = sigmoid(v1);
    let v4 = tanh(v1);
    let v5 = v3 / fma(v4, v4, 1.0);
    let v6 = v4 - v3;
    let v7 = v4 / fma(v5, v5, 1.0);
    let v8 = if v2 > v7 { v2 } else { v7 };
    let v9 = v7 * v1;
    let v10 = f32::from_bits(from(3 * len + i));
    let v11 = v10 * v1;
    let v12 = v10 * v7;
    let v13 = v11 / fma(v5, v5, 1.0);
    let v14 = v5 * v7;
    let v15 = v14 + v14;
    let v16 = v15 * v13;
    let v17 = -v16;
    let v18 = v17 / fma(v4, v4, 1.0);
    let v19 = v4 * v5;
    let v20 = v19 + v19;
    let v21 = v20 * v18;
    let v22 = -v21;
    let v23 = v13 + v22;
    let v24 = 1.0_f32;
    let v25 = v4 * v4;
    let v26 = v24 - v25;
    let v27 = v23 * v26;
    let v28 = v12 + v27;
    let v29 = v3 * v3;
    let v30 = v3 - v29;
    let v31 = v18 * v30;
    let v32 = v28 + v31;
    let v33 = 0.0_f32;
    let v34 = 0.0_f32;
    to(i, v33.to_bits());
    to(len + i, v32.to_bits());
    to(2 * len + i, v34.to_bits());
}
