//! Sample 1 of the family `matrix`, seed 1, by `cargo xtask kernels`.

use crate::math::fma;

/// Element `i` of a product of 9 by 11 and 11 by 13 matrices.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let (row, column) = (i / 13, i % 13);
    let mut sum = 0.0_f32;
    for p in 0..11 {
        let left = f32::from_bits(from(row * 11 + p));
        let right = f32::from_bits(from(99 + column * 11 + p));
        sum = fma(left, right, sum);
    }
    let v0 = f32::from_bits(sum.to_bits());
    let v1 = -0.32910156_f32;
    let v2 = if v1 > v0 { v1 } else { v0 };
    let v3 = v1 - v1;
    let v4 = v3 * v2;
    to(i, v4.to_bits());
}
