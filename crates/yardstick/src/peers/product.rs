//! A product of matrices by crate `gemm-f32`, which has no safe call.

use gemm_common::Parallelism;

/// Computes `C = A B` for row-major `n x n` matrices.
///
/// It is one direct call of crate `gemm-f32` on one thread.
///
/// # Panics
/// If a slice does not hold `n^2` elements.
pub(crate) fn plain_gemm(n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    for len in [a.len(), b.len(), c.len()] {
        assert_eq!(Some(len), n.checked_mul(n), "a matrix of another size");
    }
    let (row, col) = (n as isize, 1);
    // The kernels write columns, so the row-major C is computed as its transpose, from the transposes of B and A.
    // SAFETY: each matrix holds n^2 elements, which is where row stride n and column stride 1 end; C is exclusive.
    unsafe {
        gemm_f32::gemm::f32::get_gemm_fn()(
            n,
            n,
            n,
            c.as_mut_ptr(),
            row,
            col,
            false,
            b.as_ptr(),
            row,
            col,
            a.as_ptr(),
            row,
            col,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_that_of_rows_and_columns() {
        let mut c = [f32::NAN; 4];
        plain_gemm(2, &[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &mut c);
        assert_eq!(c, [19.0, 22.0, 43.0, 50.0]);
    }
}
