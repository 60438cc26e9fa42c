//! Small products in f64, by crate `gemm`.

use gemm::Parallelism;

/// Where the elements of a matrix lie: element `(r, c)` is at `r row + c col`.
#[derive(Clone, Copy)]
pub(super) struct Strides {
    pub(super) row: usize,
    pub(super) col: usize,
}

/// `C = A B` for row-major C, on this thread; A is `m x k`, B is `k x n` and row-major, and none is empty.
pub(super) fn product([m, n, k]: [usize; 3], a: &[f64], strides: Strides, b: &[f64], c: &mut [f64]) {
    let reach = (m - 1) * strides.row + (k - 1) * strides.col + 1;
    assert!(a.len() >= reach && b.len() >= k * n && c.len() >= m * n, "a product leaves its slices");
    // SAFETY: the assertion above keeps every address that the strides form inside its slice; C is borrowed
    // exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            false,
            a.as_ptr(),
            strides.col as isize,
            strides.row as isize,
            b.as_ptr(),
            1,
            n as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}
