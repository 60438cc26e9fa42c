//! Sample 1 of the family `matrix`, seed 1, by `cargo xtask kernels`.

use crate::math::{abs, fma};

/// Element `i` of a product of 6 by 9 and 9 by 12 matrices.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let (row, column) = (i / 12, i % 12);
    let mut sum = 0.0_f32;
    for p in 0..9 {
        let left = f32::from_bits(from(row * 9 + p));
        let right = f32::from_bits(from(54 + p * 12 + column));
        sum = fma(left, right, sum);
    }
    let v0 = f32::from_bits(sum.to_bits());
    let v1 = abs(v0);
    let v2 = abs(v1);
    let v3 = v2 * v0;
    to(i, v3.to_bits());
}
