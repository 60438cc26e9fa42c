//! Sample 2 of the family `control`, seed 1, by `cargo xtask kernels`.

/// Changes the words of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let mut x0 = from(i);
    let mut x1 = from(len + i);
    let mut x2 = from(2 * len + i);
    let mut fuel = 3_u32;
    while fuel > 0 && (x0 as i32) <= (x1 as i32) {
        fuel -= 1;
        x2 = x2.wrapping_mul(x1);
        if (x0 as i32) != (x1 as i32) {
            x2 = x2.saturating_add(x0);
        } else {
            match x1 & 7 {
                0 => x0 = (x0 as i32).wrapping_shr(x0) as u32,
                1 => x1 = (x1 as i32).max(x1 as i32) as u32,
                2 => x0 = x0.count_ones(),
                3 => x0 = x0.wrapping_add(x0),
                4 => x2 = x2.min(x0),
                5 => x1 = x1 ^ x2,
                6 => x2 = x2.wrapping_neg(),
                _ => x0 = x0 / (x0 | 1),
            }
            x2 = x2.leading_zeros();
        }
        if x1 <= x2 {
            x1 = x1 | x0;
            x1 = (x1 as i32).max(x1 as i32) as u32;
        }
    }
    if x1 <= x0 {
        x2 = x2.swap_bytes();
    }
    match x2 & 3 {
        0 => x0 = (x0 as i32).wrapping_shr(x2) as u32,
        1 => x1 = x1 & x0,
        2 => x1 = x1.wrapping_sub(x1),
        _ => x1 = x1 & x2,
    }
    x0 = ((u64::from(x0) << 32 | u64::from(x0)) >> (x0 & 31)) as u32;
    to(i, x0);
    to(len + i, x1);
    to(2 * len + i, x2);
}
