//! Sample 0 of the family `control`, seed 1, by `cargo xtask kernels`.

/// Changes the words of thread `i`.
#[inline(always)]
pub fn thread(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {
    let mut x0 = from(i);
    let mut x1 = from(len + i);
    let mut x2 = from(2 * len + i);
    let mut fuel = 3_u32;
    while fuel > 0 && (x2 as i32) <= (x1 as i32) {
        fuel -= 1;
        for counter in 0..(x0 & 3) {
            x2 = x2.trailing_zeros();
            x1 = x1.wrapping_shl(x1);
            x1 = x1 & x1;
            if (x1 as i32) < (x2 as i32) {
                break;
            }
        }
        x0 = x0.wrapping_add(x0);
    }
    if (x0 as i32) == (x1 as i32) {
        x2 = x2.saturating_add(x2);
        x0 = x0.saturating_add(x1);
    } else {
        let mut fuel = 6_u32;
        while fuel > 0 && x1 < x2 {
            fuel -= 1;
            x2 = x2.wrapping_sub(x0);
            x2 = x2.trailing_zeros();
            x0 = x0.count_ones();
        }
    }
    match x0 & 3 {
        0 => x1 = (x1 as i32).max(x0 as i32) as u32,
        1 => x1 = (x1 as i32).wrapping_div(x2 as i32 | 1) as u32,
        2 => x2 = !x2,
        _ => x2 = x2.wrapping_mul(x2),
    }
    if x0 != x2 {
        for counter in 0..(x2 & 3) {
            x1 = x1 / (x0 | 1);
            if (x0 as i32) == (x2 as i32) {
                break;
            }
        }
        if x2 < x0 {
            x2 = x2.min(x1);
            match x1 & 3 {
                0 => x2 = x2.wrapping_shr(x0),
                1 => x2 = x2 % (x1 | 1),
                2 => x1 = x1.saturating_sub(x0),
                _ => x1 = (x1 as i32).min(x1 as i32) as u32,
            }
        } else {
            x2 = !x2;
            match x0 & 7 {
                0 => x0 = x0.saturating_sub(x0),
                1 => x0 = x0.max(x0),
                2 => x0 = (x0 as i32).min(x0 as i32) as u32,
                3 => x1 = (x1 as i32).min(x1 as i32) as u32,
                4 => x1 = (x1 as i32).min(x2 as i32) as u32,
                5 => x0 = !x0,
                6 => x0 = x0 | x1,
                _ => x1 = x1.saturating_sub(x0),
            }
        }
    }
    to(i, x0);
    to(len + i, x1);
    to(2 * len + i, x2);
}
