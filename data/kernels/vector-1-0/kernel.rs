//! Sample 0 of the family `vector`, seed 1, by `cargo xtask kernels`.

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
    let v6 = v4 * v4;
    let v7 = fma(v5, v5, v6);
    let v8 = sqrt(abs(v7));
    let v9 = v4 / fma(v8, v8, 1.0);
    let v10 = v5 / fma(v8, v8, 1.0);
    let v11 = v9 * v9;
    let v12 = fma(v10, v10, v11);
    let v13 = sqrt(abs(v12));
    let v14 = v9 / fma(v13, v13, 1.0);
    let v15 = v10 / fma(v13, v13, 1.0);
    let v16 = if v9 > v14 { v9 } else { v14 };
    let v17 = if v10 > v15 { v10 } else { v15 };
    let v18 = v16 * v9;
    let v19 = fma(v17, v10, v18);
    let v20 = fma(v19, v16, v9);
    let v21 = fma(v19, v17, v10);
    let v22 = v20 * v20;
    let v23 = fma(v21, v21, v22);
    let v24 = sqrt(abs(v23));
    let v25 = v20 / fma(v24, v24, 1.0);
    let v26 = v21 / fma(v24, v24, 1.0);
    to(i, v25.to_bits());
    to(len + i, v26.to_bits());
}
