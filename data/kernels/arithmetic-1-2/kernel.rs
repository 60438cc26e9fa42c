//! Sample 2 of the family `arithmetic`, seed 1, by `cargo xtask kernels`.

/// Combines the words of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let v0 = from(i);
    let v1 = from(len + i);
    let v2 = from(2 * len + i);
    let v3 = from(3 * len + i);
    let v4 = v3 % (v2 | 1);
    let v5 = 0x5605eed9_u32;
    let v6 = v4.saturating_sub(v5);
    let v7 = v6.trailing_zeros();
    let v8 = v5.leading_zeros();
    let v9 = (v7 as i32).max(v7 as i32) as u32;
    let v10 = (v9 as i32).min(v8 as i32) as u32;
    let v11 = v8.saturating_sub(v6);
    let v12 = v11.trailing_zeros();
    let v13 = v11 ^ v6;
    let v14 = v13 % (v5 | 1);
    let v15 = v14 | v0;
    let v16 = v13.saturating_add(v8);
    let v17 = v16.wrapping_add(v4);
    let v18 = v16.leading_zeros();
    let v19 = v17 & v6;
    let v20 = v17.leading_zeros();
    let v21 = if v19 < v4 { v1 } else { v20 };
    let v22 = v19.rotate_left(v8 & 31);
    let v23 = v20.wrapping_mul(v12);
    let v24 = v21.leading_zeros();
    let v25 = v22.leading_zeros();
    let v26 = 0xd245a2ca_u32;
    let v27 = ((u64::from(v25) << 32 | u64::from(v4)) >> (v26 & 31)) as u32;
    to(i, v25);
    to(len + i, v27);
}
