//! Sample 2 of the family `math`, seed 1, by `cargo xtask kernels`.

use crate::functions::{log, tanh};
use crate::math::{abs, fma, sqrt};

/// Combines the numbers of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = v1 + v1;
    let v3 = v1 + v0;
    let v4 = tanh(v1);
    let v5 = sqrt(abs(v3));
    let v6 = fma(v3, v1, v5);
    let v7 = sqrt(abs(v5));
    let v8 = v7 - v2;
    let v9 = -1.8310547_f32;
    let v10 = if v9 > v7 { v9 } else { v7 };
    let v11 = v9 / fma(v6, v6, 1.0);
    let v12 = v9 - v8;
    let v13 = v11 * v10;
    let v14 = v11 * v5;
    let v15 = log(1.0 + abs(v12));
    let v16 = v15 + v2;
    let v17 = -0.140625_f32;
    let v18 = if v17 < v14 { v17 } else { v14 };
    to(i, v16.to_bits());
    to(len + i, v18.to_bits());
}
