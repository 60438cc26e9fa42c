//! Sample 1 of the family `arithmetic`, seed 1, by `cargo xtask kernels`.

/// Combines the words of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = from(i);
    let v1 = from(len + i);
    let v2 = 0x4f_u32;
    let v3 = v1.wrapping_sub(v2);
    let v4 = v1.wrapping_shl(v2);
    let v5 = v4 & v0;
    let v6 = !v4;
    let v7 = v6.swap_bytes();
    let v8 = v5 ^ v1;
    let v9 = v7.wrapping_shr(v8);
    let v10 = v7.reverse_bits();
    let v11 = (v10 as i32).wrapping_shr(v1) as u32;
    let v12 = v10.leading_zeros();
    let v13 = ((u64::from(v12) << 32 | u64::from(v2)) >> (v1 & 31)) as u32;
    let v14 = v12.abs_diff(v8);
    to(i, v13);
    to(len + i, v14);
}
