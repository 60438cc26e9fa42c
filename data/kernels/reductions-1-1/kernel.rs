//! Sample 1 of the family `reductions`, seed 1, by `cargo xtask kernels`.

/// The term of thread `i`.
#[inline(always)]
pub fn term(i: u32, len: u32, from: &impl Fn(u32) -> u32) -> u32 {
    let v0 = from(i);
    let v1 = from(len + i);
    let v2 = v1.wrapping_mul(v0);
    let v3 = v1.saturating_add(v2);
    let v4 = v2 ^ v3;
    let v5 = v4.reverse_bits();
    let v6 = v3.wrapping_neg();
    let v7 = v4 | v2;
    v7
}

/// The term of threads beyond the last.
pub const NEUTRAL: u32 = 0x0;

/// Combines two terms.
#[inline(always)]
pub fn combine(a: u32, b: u32) -> u32 {
    a.max(b)
}
