//! Sample 2 of the family `vector`, seed 1, by `cargo xtask kernels`.

use crate::math::{abs, fma, sqrt};

/// Combines vectors of 3 components of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = f32::from_bits(from(2 * len + i));
    let v3 = f32::from_bits(from(3 * len + i));
    let v4 = f32::from_bits(from(4 * len + i));
    let v5 = f32::from_bits(from(5 * len + i));
    let v6 = f32::from_bits(from(6 * len + i));
    let v7 = f32::from_bits(from(7 * len + i));
    let v8 = f32::from_bits(from(8 * len + i));
    let v9 = v6 * v6;
    let v10 = fma(v7, v7, v9);
    let v11 = fma(v8, v8, v10);
    let v12 = sqrt(abs(v11));
    let v13 = v6 / fma(v12, v12, 1.0);
    let v14 = v7 / fma(v12, v12, 1.0);
    let v15 = v8 / fma(v12, v12, 1.0);
    let v16 = if v0 > v13 { v0 } else { v13 };
    let v17 = if v1 > v14 { v1 } else { v14 };
    let v18 = if v2 > v15 { v2 } else { v15 };
    let v19 = v18 * v17;
    let v20 = -v19;
    let v21 = fma(v17, v18, v20);
    let v22 = v16 * v18;
    let v23 = -v22;
    let v24 = fma(v18, v16, v23);
    let v25 = v17 * v16;
    let v26 = -v25;
    let v27 = fma(v16, v17, v26);
    let v28 = v21 + v0;
    let v29 = v24 + v1;
    let v30 = v27 + v2;
    let v31 = v30 * v29;
    let v32 = -v31;
    let v33 = fma(v29, v30, v32);
    let v34 = v28 * v30;
    let v35 = -v34;
    let v36 = fma(v30, v28, v35);
    let v37 = v29 * v28;
    let v38 = -v37;
    let v39 = fma(v28, v29, v38);
    to(i, v33.to_bits());
    to(len + i, v36.to_bits());
    to(2 * len + i, v39.to_bits());
}
