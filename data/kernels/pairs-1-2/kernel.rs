//! Sample 2 of the family `pairs`, seed 1, by `cargo xtask kernels`.

use crate::functions::sigmoid;

/// A function of the numbers of thread `i`.
#[inline(always)]
pub fn forward(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = v1 * v0;
    let v3 = v0 - v2;
    let v4 = v2 - v1;
    let v5 = sigmoid(v2);
    let v6 = v3 * v4;
    let v7 = sigmoid(v5);
    let v8 = sigmoid(v7);
    let v9 = sigmoid(v6);
    let v10 = -v7;
    to(i, v10.to_bits());
}

/// The gradients of the numbers of thread `i`, from the gradient of the result.
#[inline(always)]
pub fn backward(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = v1 * v0;
    let v3 = v0 - v2;
    let v4 = v2 - v1;
    let v5 = sigmoid(v2);
    let v6 = v3 * v4;
    let v7 = sigmoid(v5);
    let v8 = sigmoid(v7);
    let v9 = sigmoid(v6);
    let v10 = -v7;
    let v11 = f32::from_bits(from(2 * len + i));
    let v12 = -v11;
    let v13 = v7 * v7;
    let v14 = v7 - v13;
    let v15 = v12 * v14;
    let v16 = v5 * v5;
    let v17 = v5 - v16;
    let v18 = v15 * v17;
    let v19 = v18 * v0;
    let v20 = v18 * v1;
    to(i, v20.to_bits());
    to(len + i, v19.to_bits());
}
