//! Sample 1 of the family `control`, seed 1, by `cargo xtask kernels`.

/// Changes the words of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let mut x0 = from(i);
    let mut x1 = from(len + i);
    let mut fuel = 4_u32;
    while fuel > 0 && x0 <= x1 {
        fuel -= 1;
        x1 = x1.wrapping_mul(x0);
        if (x1 as i32) != (x0 as i32) {
            x1 = (x1 as i32).max(x0 as i32) as u32;
            x0 = (x0 as i32).min(x1 as i32) as u32;
            x1 = x1.abs_diff(x0);
        } else {
            x1 = ((i64::from(x1 as i32) * i64::from(x0 as i32)) >> 32) as u32;
            x1 = (x1 as i32).wrapping_shr(x1) as u32;
            x0 = x0.abs_diff(x1);
        }
    }
    if x1 < x0 {
        x0 = x0.count_ones();
    }
    match x1 & 7 {
        0 => x1 = if x1 < x1 { x1 } else { x1 },
        1 => x1 = x1.wrapping_add(x0),
        2 => x1 = x1.wrapping_add(x0),
        3 => x1 = x1.rotate_left(x0 & 31),
        4 => x1 = x1.wrapping_neg(),
        5 => x0 = x0.wrapping_shl(x0),
        6 => x1 = x1.wrapping_mul(x1),
        _ => x0 = x0.saturating_sub(x0),
    }
    for counter in 0..(x0 & 7) {
        x0 = x0.wrapping_add(x0);
    }
    to(i, x0);
    to(len + i, x1);
}
