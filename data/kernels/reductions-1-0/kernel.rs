//! Sample 0 of the family `reductions`, seed 1, by `cargo xtask kernels`.

/// The term of thread `i`.
#[inline(always)]
pub fn term(i: u32, len: u32, from: &impl Fn(u32) -> u32) -> u32 {
    let v0 = from(i);
    let v1 = from(len + i);
    let v2 = (v0 as i32).max(v1 as i32) as u32;
    let v3 = v2 & v0;
    let v4 = (v3 as i32).min(v1 as i32) as u32;
    let v5 = v2.wrapping_add(v4);
    let v6 = 0xd75845fc_u32;
    let v7 = v4.wrapping_shl(v6);
    let v8 = (v5 as i32).wrapping_div(v2 as i32 | 1) as u32;
    let v9 = v8.reverse_bits();
    v9
}

/// The bin of a term.
#[inline(always)]
pub fn place(term: u32) -> u32 {
    term % 5
}
