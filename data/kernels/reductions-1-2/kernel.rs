//! Sample 2 of the family `reductions`, seed 1, by `cargo xtask kernels`.

/// The term of thread `i`.
#[inline(always)]
pub fn term(i: u32, len: u32, from: &impl Fn(u32) -> u32) -> u32 {
    let v0 = from(i);
    let v1 = (v0 as i32).wrapping_div(v0 as i32 | 1) as u32;
    let v2 = v1.saturating_sub(v0);
    let v3 = ((u64::from(v1) << 32 | u64::from(v1)) >> (v2 & 31)) as u32;
    let v4 = v3.min(v0);
    let v5 = (v3 as i32).wrapping_shr(v1) as u32;
    v5
}

/// The bin of a term.
#[inline(always)]
pub fn place(term: u32) -> u32 {
    term % 16
}
