//! Sample 2 of the family `matrix`, seed 1, by `cargo xtask kernels`.

use crate::math::{abs, fma};

/// Element `i` of a product of 8 by 11 and 11 by 7 matrices.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let (row, column) = (i / 7, i % 7);
    let mut sum = 0.0_f32;
    for p in 0..11 {
        let left = f32::from_bits(from(row * 11 + p));
        let right = f32::from_bits(from(88 + p * 7 + column));
        sum = fma(left, right, sum);
    }
    let v0 = f32::from_bits(sum.to_bits());
    let v1 = v0 * v0;
    let v2 = abs(v1);
    let v3 = fma(v2, v1, v2);
    to(i, v3.to_bits());
}
