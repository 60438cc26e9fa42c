//! Small products in f64, by crate `gemm-f64`.

use gemm_common::Parallelism;

/// Where the elements of a matrix lie: element `(r, c)` is at `r row + c col`.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    pub(super) row: usize,
    pub(super) col: usize,
}

/// `C = A B` for row-major C, on this thread.
///
/// A is `m x k`, B is `k x n` and row-major, and none is empty.
pub(super) fn product([m, n, k]: [usize; 3], a: &[f64], strides: Strides, b: &[f64], c: &mut [f64]) {
    assert!(
        a.len() > (m - 1) * strides.row + (k - 1) * strides.col && b.len() >= k * n && c.len() >= m * n,
        "a product leaves its slices"
    );
    let lhs = (a.as_ptr(), strides.col as isize, strides.row as isize);
    let rhs = (b.as_ptr(), 1, n as isize);
    // The kernels write columns, so a row-major C is computed as its transpose; a single column is both.
    let (sizes, dst, lhs, rhs) = match n {
        1 => ([m, n], [1, 1], lhs, rhs),
        _ => ([n, m], [n as isize, 1], (rhs.0, rhs.2, rhs.1), (lhs.0, lhs.2, lhs.1)),
    };
    // SAFETY: the assertion above keeps every address that the strides form inside its slice; C is borrowed
    // exclusively.
    unsafe {
        gemm_f64::gemm::f64::get_gemm_fn()(
            sizes[0],
            sizes[1],
            k,
            c.as_mut_ptr(),
            dst[0],
            dst[1],
            false,
            lhs.0,
            lhs.1,
            lhs.2,
            rhs.0,
            rhs.1,
            rhs.2,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
