//! The matrix that makes columns orthonormal: the inverse of the Cholesky factor of G.
//!
//! One block replaces the upper triangle of G row by row by that inverse: in shared memory for at
//! most 96 rows, else in the memory of the result.
//!
//! Rows above the pivot hold the inverse as far as it is computed, except for the length of its
//! columns: every row operation on G is applied to the unit matrix too.
//!
//! # Safety
//! `gram` and `inverse` are `side x side`, of at most 1024 rows; `peak` is one word or null. Grid:
//! one block. For `factor_inverse` there are at most 96 rows, 512 threads, and `8 side^2` bytes of
//! shared memory after `ROOTS`.

use core::hint::assert_unchecked;

use core_types::params::factor::{MAX_SIDE, SHARED_SIDE, least_pivot, power_of_two, scale_exponent};

use super::square::Square;
use crate::dev::{
    idx::{block_stride, tid_x},
    memory::smem::{Layout, Region, SharedSlice},
    numeric::math::sqrt_f64,
    sync::block_sync,
};

/// Threads of the block: 16 rows of 32.
const THREADS: u32 = 512;
/// Threads of the block that works in global memory.
const WIDE_THREADS: u32 = 1024;
/// Most rows of a matrix in shared memory.
const MOST: u32 = SHARED_SIDE as u32;

/// The least pivot of each column that is not left out.
///
/// Later, the inverse of the pivot's root, or zero.
const ROOTS: Region<f64> = Layout::new().array(MOST);
const MATRIX: Region<f64> = ROOTS.end().array(MOST * MOST);
/// [`ROOTS`] of matrices in global memory.
const WIDE_ROOTS: Region<f64> = Layout::new().array(MAX_SIDE as u32);

/// Writes the inverse of the Cholesky factor, with zero columns for omitted pivots.
///
/// `matrix` may be `inverse`.
#[inline(always)]
unsafe fn invert<const WARPS: u32>(
    side: u32,
    gram: *const f64,
    peak: *const u32,
    inverse: *mut f64,
    roots: SharedSlice<f64>,
    matrix: impl Square,
) {
    for i in block_stride(side * side) {
        matrix.set(i, *gram.add(i as usize));
    }
    for i in block_stride(side) {
        roots.set(i, least_pivot(u64::from(side), *gram.add((i * side + i) as usize)));
    }
    block_sync();
    let (first_row, first_col) = (tid_x() / 32, tid_x() % 32);
    let mut j = 0;
    while j < side {
        let pivot = matrix.get(j * side + j);
        let kept = pivot > roots.get(j) && pivot < f64::INFINITY;
        let inverse = if kept { 1.0 / pivot } else { 0.0 };
        let mut i = first_row;
        while i < side {
            let is_above = i < j;
            let factor = inverse * matrix.get(if is_above { i * side + j } else { j * side + i });
            let mut k = first_col;
            while k < side {
                if kept && k > j && i != j && (is_above || k >= i) {
                    matrix.set(i * side + k, matrix.get(i * side + k) - factor * matrix.get(j * side + k));
                }
                k += 32;
            }
            i += WARPS;
        }
        block_sync();
        // What lies before the row's own column is not used.
        for k in block_stride(side) {
            matrix.set(j * side + k, -inverse * matrix.get(j * side + k));
        }
        if tid_x() == 0 {
            roots.set(j, sqrt_f64(inverse));
        }
        block_sync();
        j += 1;
    }
    let scale = if peak.is_null() { 1.0 } else { power_of_two(-scale_exponent(*peak)) };
    for i in block_stride(side * side) {
        assert_unchecked(side != 0);
        let (row, col) = (i / side, i % side);
        let root = roots.get(col) * scale;
        let entry = if row < col { matrix.get(i) * root } else { root };
        *inverse.add(i as usize) = if row <= col { entry } else { 0.0 };
    }
}

/// The inverse of a factor of at most 96 rows.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_inverse(side: u32, gram: *const f64, peak: *const u32, inverse: *mut f64) {
    invert::<{ THREADS / 32 }>(side, gram, peak, inverse, ROOTS.slice(), MATRIX.slice());
}

/// The inverse of a factor of at most 1024 rows.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_inverse_wide(
    side: u32,
    gram: *const f64,
    peak: *const u32,
    inverse: *mut f64,
) {
    invert::<{ WIDE_THREADS / 32 }>(side, gram, peak, inverse, WIDE_ROOTS.slice(), inverse);
}

kernel_table! {
    factor_inverse: block [THREADS, 1, 1], min_blocks 1, shared UpTo(MATRIX.end().bytes()), barriers 3;
    factor_inverse_wide: block [WIDE_THREADS, 1, 1], min_blocks 1, shared Bytes(WIDE_ROOTS.end().bytes()), barriers 3;
}
