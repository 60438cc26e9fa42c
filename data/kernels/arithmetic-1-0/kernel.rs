//! Sample 0 of the family `arithmetic`, seed 1, by `cargo xtask kernels`.

/// Combines the words of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = from(i);
    let v1 = from(len + i);
    let v2 = v1.min(v0);
    let v3 = 0x2_u32;
    let v4 = v1 & v3;
    let v5 = ((i64::from(v3 as i32) * i64::from(v2 as i32)) >> 32) as u32;
    let v6 = (v4 as i32).wrapping_div(v5 as i32 | 1) as u32;
    let v7 = 0x1f_u32;
    let v8 = v5.saturating_add(v7);
    let v9 = (v7 as i32).wrapping_shr(v7) as u32;
    let v10 = v9 ^ v0;
    let v11 = ((u64::from(v8) * u64::from(v6)) >> 32) as u32;
    let v12 = 0x727c7666_u32;
    let v13 = (v10 as i32).max(v12 as i32) as u32;
    let v14 = v13 & v3;
    let v15 = ((u64::from(v12) << 32 | u64::from(v8)) >> (v1 & 31)) as u32;
    let v16 = ((u64::from(v15) * u64::from(v3)) >> 32) as u32;
    let v17 = v16.swap_bytes();
    let v18 = 0xec72c003_u32;
    let v19 = v15.wrapping_add(v18);
    let v20 = v19.wrapping_shr(v13);
    let v21 = v20.wrapping_mul(v5);
    let v22 = !v20;
    let v23 = v21 ^ v21;
    let v24 = v21.saturating_add(v8);
    let v25 = v22.trailing_zeros();
    let v26 = v24.leading_zeros();
    let v27 = v26.max(v7);
    let v28 = 0xe3556c50_u32;
    let v29 = v26.rotate_left(v28 & 31);
    to(i, v27);
    to(len + i, v29);
}
