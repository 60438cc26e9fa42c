//! Sample 1 of the family `vector`, seed 1, by `cargo xtask kernels`.

/// Combines vectors of 2 components of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = f32::from_bits(from(i));
    let v1 = f32::from_bits(from(len + i));
    let v2 = f32::from_bits(from(2 * len + i));
    let v3 = f32::from_bits(from(3 * len + i));
    let v4 = f32::from_bits(from(4 * len + i));
    let v5 = f32::from_bits(from(5 * len + i));
    let v6 = v4 + v2;
    let v7 = v5 + v3;
    let v8 = v6 + v2;
    let v9 = v7 + v3;
    let v10 = v8 - v0;
    let v11 = v9 - v1;
    let v12 = if v0 < v10 { v0 } else { v10 };
    let v13 = if v1 < v11 { v1 } else { v11 };
    to(i, v12.to_bits());
    to(len + i, v13.to_bits());
}
