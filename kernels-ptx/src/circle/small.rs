//! Columns of two and four words, one thread per column.
//!
//! # Safety
//! Buffers hold `columns` columns of the sizes that the parameters state; `twiddles` are the factors of the domain. Grid:
//! any; block: 256 threads.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleSmallParams,
};

use crate::dev::idx::grid_stride;

/// The factors of layer 0 at its second pair, minus that of the first, and of layer 1. Two points have `y = -1` first, four have
/// one `|x|` for both layers.
#[inline(always)]
unsafe fn factors(twiddles: *const Twiddle, log_domain: u32) -> [Twiddle; 2] {
    match log_domain {
        1 => [Twiddle::new(M31::ONE); 2],
        2 => [*twiddles; 2],
        _ => [(*twiddles.add(1)).negated(), *twiddles],
    }
}

/// Values to coefficients, in place.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_small_interpolate(
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: CircleSmallParams,
) {
    let [low, high] = factors(twiddles, params.log_domain);
    for column in grid_stride(u64::from(params.columns)) {
        let column = columns.add((column << params.log_size) as usize);
        let (a, b) = (*column).inverse_butterfly(*column.add(1), low.negated());
        if params.log_size == 1 {
            *column = a.div_power_of_two(1);
            *column.add(1) = b.div_power_of_two(1);
        } else {
            let (c, d) = (*column.add(2)).inverse_butterfly(*column.add(3), low);
            let (w0, w2) = a.inverse_butterfly(c, high);
            let (w1, w3) = b.inverse_butterfly(d, high);
            *column = w0.div_power_of_two(2);
            *column.add(1) = w1.div_power_of_two(2);
            *column.add(2) = w2.div_power_of_two(2);
            *column.add(3) = w3.div_power_of_two(2);
        }
    }
}

/// `2^log_source` coefficients to values; missing coefficients are zero. `source` may be `columns`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_small_evaluate(
    source: *const M31,
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: CircleSmallParams,
) {
    let [low, high] = factors(twiddles, params.log_domain);
    for column in grid_stride(u64::from(params.columns)) {
        let source = source.add((column << params.log_source) as usize);
        let coefficient = |i: usize| if i < 1 << params.log_source { *source.add(i) } else { M31::ZERO };
        let [w0, w1, w2, w3] = [coefficient(0), coefficient(1), coefficient(2), coefficient(3)];
        let target = columns.add((column << params.log_size) as usize);
        if params.log_size == 1 {
            (*target, *target.add(1)) = w0.butterfly(w1, low.negated());
        } else {
            let (a, c) = w0.butterfly(w2, high);
            let (b, d) = w1.butterfly(w3, high);
            (*target, *target.add(1)) = a.butterfly(b, low.negated());
            (*target.add(2), *target.add(3)) = c.butterfly(d, low);
        }
    }
}

kernel_table! {
    circle_small_interpolate: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
    circle_small_evaluate: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
