//! Sample 0 of the family `matrix`, seed 1, by `cargo xtask kernels`.

use crate::math::fma;

/// Element `i` of a product of 6 by 9 and 9 by 16 matrices.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let (row, column) = (i / 16, i % 16);
    let mut sum = 0.0_f32;
    for p in 0..9 {
        let left = f32::from_bits(from(row * 9 + p));
        let right = f32::from_bits(from(54 + column * 9 + p));
        sum = fma(left, right, sum);
    }
    let v0 = f32::from_bits(sum.to_bits());
    let v1 = 0.43066406_f32;
    let v2 = v0 + v1;
    let v3 = -0.6015625_f32;
    let v4 = fma(v2, v3, v3);
    let v5 = 1.8173828_f32;
    let v6 = if v5 < v2 { v5 } else { v2 };
    to(i, v6.to_bits());
}
