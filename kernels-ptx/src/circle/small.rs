//! Columns of two and four words, one thread per column.
//!
//! # Safety
//! Buffers hold `columns` columns of the sizes that the parameters state; `twiddles` are the
//! factors of the domain. Grid: any; block: 256 threads.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleSmallParams,
};

use crate::dev::idx::grid_stride;

/// The twiddles of a column: layer 0 at its second pair, and layer 1.
///
/// In layer 0 the twiddle of the first pair is the negative of the second pair's.
///
/// Four points in a row have one factor of layer 1 and, but for the sign, the other one of two such
/// fours in layer 0. Two points have `y = -1` first, a domain of four has one `|x|` for both
/// layers.
#[inline(always)]
unsafe fn factors(twiddles: *const Twiddle, params: &CircleSmallParams) -> [Twiddle; 2] {
    let four = (params.position >> 2) as usize;
    let [low, high] = match params.log_domain {
        1 => [Twiddle::new(M31::ONE); 2],
        2 => [*twiddles; 2],
        _ => {
            let other = *twiddles.add(four ^ 1);
            [if four & 1 == 0 { other.negated() } else { other }, *twiddles.add(four)]
        }
    };
    // A column of two points at a second pair of the domain has that pair as its first.
    [if params.position & 2 == 0 { low } else { low.negated() }, high]
}

/// Values to coefficients, in place.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_small_interpolate(
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: CircleSmallParams,
) {
    let [low, high] = factors(twiddles, &params);
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

/// `2^log_source` coefficients to values; missing coefficients are zero.
///
/// `source` may be `columns`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_small_evaluate(
    source: *const M31,
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: CircleSmallParams,
) {
    evaluate(columns, twiddles, &params, |column, i| {
        let source = source.add((column << params.log_source) as usize);
        if i < 1 << params.log_source { *source.add(i) } else { M31::ZERO }
    });
}

/// Weighted sums of the parts of columns of `2^log_source` coefficients to values.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_small_restrict(
    coefficients: *const M31,
    values: *mut M31,
    twiddles: *const Twiddle,
    weights: *const Twiddle,
    params: CircleSmallParams,
) {
    evaluate(values, twiddles, &params, |column, i| {
        let mut sum = M31::ZERO;
        if i < 1 << params.log_size {
            let source = coefficients.add((column << params.log_source) as usize + i);
            let mut part = 0;
            while part >> (params.log_source - params.log_size) == 0 {
                sum = sum.plus_product(*source.add(part << params.log_size), *weights.add(part));
                part += 1;
            }
        }
        sum
    });
}

/// Writes the values of columns whose coefficient `i` is `coefficient(column, i)`.
#[inline(always)]
unsafe fn evaluate(
    columns: *mut M31,
    twiddles: *const Twiddle,
    params: &CircleSmallParams,
    coefficient: impl Fn(u64, usize) -> M31,
) {
    let [low, high] = factors(twiddles, params);
    for column in grid_stride(u64::from(params.columns)) {
        let [w0, w1] = [coefficient(column, 0), coefficient(column, 1)];
        let [w2, w3] = [coefficient(column, 2), coefficient(column, 3)];
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
    circle_small_restrict: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
}
