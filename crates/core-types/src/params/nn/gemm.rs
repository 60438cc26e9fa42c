//! Parameters of batched matrix products.

use bytemuck::{NoUninit, Pod, Zeroable};

use super::elementwise::Activation;
use crate::params::sizes::sizes;

/// The most leading axes a batch of matrices can have.
pub const BATCH_AXES: usize = 4;

/// Strides of a batch of matrices in a view.
///
/// Element `(r, c)` of matrix `i` is at `i[0] batch[0] + .. + r row + c col`. A batch stride of 0
/// repeats a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct MatrixStrides {
    /// Elements from one matrix to the next along each leading axis, outermost first.
    pub batch: [u64; BATCH_AXES],
    /// Elements from one row to the next.
    pub row: u64,
    /// Elements from one column to the next.
    pub col: u64,
}

impl MatrixStrides {
    /// Elements from the start of the view to the end of the last element.
    ///
    /// `None` if the count wraps; 0 for an empty batch or matrix.
    #[inline]
    #[must_use]
    pub const fn span(&self, batch: [u64; BATCH_AXES], rows: u64, cols: u64) -> Option<u64> {
        let [b0, b1, b2, b3] = batch;
        let [s0, s1, s2, s3] = self.batch;
        let axes = [(b0, s0), (b1, s1), (b2, s2), (b3, s3), (rows, self.row), (cols, self.col)];
        let mut end = 1u64;
        let mut wraps = false;
        let mut i = 0;
        while i < axes.len() {
            let (len, stride) = axes[i];
            if len == 0 {
                return Some(0);
            }
            match stride.checked_mul(len - 1) {
                Some(reach) => match end.checked_add(reach) {
                    Some(sum) => end = sum,
                    None => wraps = true,
                },
                None => wraps = true,
            }
            i += 1;
        }
        if wraps { None } else { Some(end) }
    }
}

/// A batch of products `C[i] = act(alpha A[i] B[i] + bias)`, or `C[i] += alpha A[i] B[i]`.
///
/// A is m x k, B is k x n, C is m x n, for every index `i` of the batch. The bias has n elements
/// and is added to every row. A sum over `k = 0` terms is zero.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct GemmParams {
    /// Length of each leading axis, outermost first; 1 for those not in use.
    pub batch: [u64; BATCH_AXES],
    /// Rows of A and C.
    pub m: u64,
    /// Columns of B and C.
    pub n: u64,
    /// Columns of A, rows of B.
    pub k: u64,
    /// Layout of A.
    pub a: MatrixStrides,
    /// Layout of B.
    pub b: MatrixStrides,
    /// Layout of C.
    ///
    /// No two elements share a place, except that a batch stride of 0 with
    /// [`GemmParams::accumulate`] sums the products of the batch, in order.
    pub c: MatrixStrides,
    /// 1 to add to C, 0 to overwrite it. An accumulating product has neither bias nor activation.
    pub accumulate: u32,
    /// The function applied after the bias.
    pub activation: Activation,
    /// Factor of each sum, before the bias and the one rounding; 1 keeps all bits.
    ///
    /// Infinities and NaN propagate as in arithmetic: 0 times an infinite sum is NaN, and so is an
    /// infinite factor times a sum of 0, with or without terms. A backend may multiply parts of a
    /// long sum and then add them. Infinite products of parts of both signs make the sum NaN, and
    /// so does an infinite factor of a part that is 0.
    pub alpha: f32,
    /// Makes the size a multiple of eight bytes; zero.
    pub reserved: u32,
}

sizes!(GemmParams { batch, m, n, k, activation });

/// The part of a product computed by one launch.
///
/// The parts of k are the second axis of the grid, and the matrices of the batch its third.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct GemmShare {
    /// Index of the first result; results along axes where C has a stride of 0 are not counted.
    pub first_result: u32,
    /// Length of a part of k; a multiple of 32, unless there is one part.
    pub part: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_ends_after_the_last_element() {
        let s = MatrixStrides { batch: [0, 0, 0, 6], row: 3, col: 1 };
        assert_eq!(s.span([1, 1, 1, 2], 2, 3), Some(12));
        assert_eq!(s.span([7, 1, 1, 2], 2, 3), Some(12));
        assert_eq!(s.span([1, 1, 0, 2], 2, 3), Some(0));
        let one = [1; BATCH_AXES];
        let wide = MatrixStrides { batch: [0; BATCH_AXES], row: u64::MAX, col: 2 };
        assert_eq!(wide.span(one, 3, 3), None);
        assert_eq!(wide.span(one, 1, 3), Some(5));
        assert_eq!(wide.span(one, 2, 1), None);
        assert_eq!(wide.span(one, 3, 0), Some(0));
    }
}
