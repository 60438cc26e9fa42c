//! Products of matrices, attention, and ops on rows and columns.

mod attention;
mod gemm;
mod rows;

use core_types::params::{
    elementwise::Activation,
    gemm::{GemmParams, MatrixStrides},
};

/// Parameters of `batch` products of contiguous matrices; A, B and C may be transposed.
pub(crate) fn gemm_params(batch: u64, [m, n, k]: [usize; 3], transposed: [bool; 3]) -> GemmParams {
    let [m, n, k] = [m, n, k].map(|len| len as u64);
    let strides = |rows: u64, cols: u64, transposed: bool| {
        let (row, col) = if transposed { (1, rows) } else { (cols, 1) };
        MatrixStrides { batch: [0, 0, 0, rows * cols], row, col }
    };
    let [a, b, c] = transposed;
    GemmParams {
        batch: [1, 1, 1, batch],
        m,
        n,
        k,
        a: strides(m, k, a),
        b: strides(k, n, b),
        c: strides(m, n, c),
        accumulate: 0,
        activation: Activation::Identity,
        alpha: 1.0,
        reserved: 0,
    }
}
