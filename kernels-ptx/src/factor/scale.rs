//! Columns times factors.
//!
//! # Safety
//! `x` and `y` have `p.rows x p.cols` elements, `factors` are `p.cols` floats, and there is a
//! column. Grid: any; block: 256.

use core::hint::assert_unchecked;

use core_types::params::factor::MatrixParams;

use crate::dev::idx;

/// `y = (alpha f) x`.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_scale(
    p: MatrixParams,
    alpha: f32,
    x: *const f32,
    factors: *const f32,
    y: *mut f32,
) {
    assert_unchecked(p.cols != 0);
    for i in idx::grid_stride(p.rows * p.cols) {
        let factor = alpha * *factors.add((i % p.cols) as usize);
        *y.add(i as usize) = factor * *x.add(i as usize);
    }
}

kernel_table! {
    factor_scale: block [256, 1, 1], min_blocks 8, shared None, barriers 0;
}
