//! Sample 1 of the family `pairs`, seed 1, by `cargo xtask kernels`.

use crate::functions::{sigmoid, tanh};
use crate::math::fma;

/// A function of the numbers of thread `i`.
#[inline(always)]
pub fn forward(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = f32::from_bits(from(2 * len + i));
    let v3 = f32::from_bits(from(3 * len + i));
    let v4 = v3 + v1;
    let v5 = -v2;
    let v6 = if v3 > v5 { v3 } else { v5 };
    let v7 = if v3 > v5 { v3 } else { v5 };
    let v8 = sigmoid(v5);
    let v9 = if v2 > v8 { v2 } else { v8 };
    let v10 = fma(v8, v6, v7);
    let v11 = tanh(v10);
    let v12 = if v10 > v11 { v10 } else { v11 };
    let v13 = sigmoid(v10);
    to(i, v13.to_bits());
}

/// The gradients of the numbers of thread `i`, from the gradient of the result.
#[inline(always)]
pub fn backward(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = f32::from_bits(from(2 * len + i));
    let v3 = f32::from_bits(from(3 * len + i));
    let v4 = v3 + v1;
    let v5 = -v2;
    let v6 = if v3 > v5 { v3 } else { v5 };
    let v7 = if v3 > v5 { v3 } else { v5 };
    let v8 = sigmoid(v5);
    let v9 = if v2 > v8 { v2 } else { v8 };
    let v10 = fma(v8, v6, v7);
    let v11 = tanh(v10);
    let v12 = if v10 > v11 { v10 } else { v11 };
    let v13 = sigmoid(v10);
    let v14 = f32::from_bits(from(4 * len + i));
    let v15 = v13 * v13;
    let v16 = v13 - v15;
    let v17 = v14 * v16;
    let v18 = v17 * v6;
    let v19 = v17 * v8;
    let v20 = v8 * v8;
    let v21 = v8 - v20;
    let v22 = v18 * v21;
    let v23 = 0.0_f32;
    let v24 = if v3 < v5 { v17 } else { v23 };
    let v25 = if v3 < v5 { v23 } else { v17 };
    let v26 = v22 + v24;
    let v27 = 0.0_f32;
    let v28 = if v3 < v5 { v19 } else { v27 };
    let v29 = if v3 < v5 { v27 } else { v19 };
    let v30 = v26 + v28;
    let v31 = v25 + v29;
    let v32 = -v30;
    let v33 = 0.0_f32;
    let v34 = 0.0_f32;
    to(i, v33.to_bits());
    to(len + i, v34.to_bits());
    to(2 * len + i, v32.to_bits());
    to(3 * len + i, v31.to_bits());
}
