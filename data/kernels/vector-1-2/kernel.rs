//! Sample 2 of the family `vector`, seed 1, by `cargo xtask kernels`.

use crate::math::{abs, fma, sqrt};

/// Combines vectors of 2 components of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = f32::from_bits(from(2 * len + i));
    let v3 = f32::from_bits(from(3 * len + i));
    let v4 = f32::from_bits(from(4 * len + i));
    let v5 = f32::from_bits(from(5 * len + i));
    let v6 = v4 + v0;
    let v7 = v5 + v1;
    let v8 = v6 * v0;
    let v9 = fma(v7, v1, v8);
    let v10 = fma(v9, v6, v4);
    let v11 = fma(v9, v7, v5);
    let v12 = v10 - v2;
    let v13 = v11 - v3;
    let v14 = v12 * v12;
    let v15 = fma(v13, v13, v14);
    let v16 = sqrt(abs(v15));
    let v17 = v12 / fma(v16, v16, 1.0);
    let v18 = v13 / fma(v16, v16, 1.0);
    to(i, v17.to_bits());
    to(len + i, v18.to_bits());
}
