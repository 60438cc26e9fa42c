//! Parameters of batched matrix products.

use super::elementwise::Activation;

/// Where the elements of a batch of matrices lie in a view: element `(i, r, c)` is at
/// `i * batch + r * row + c * col`. A batch stride of 0 repeats one matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MatrixStrides {
    /// Elements from one matrix of the batch to the next.
    pub batch: u64,
    /// Elements from one row to the next.
    pub row: u64,
    /// Elements from one column to the next.
    pub col: u64,
}

impl MatrixStrides {
    /// Elements from the start of the view to the end of the last element, or `None` if the count wraps; 0 for an empty
    /// batch or matrix.
    #[inline]
    #[must_use]
    pub const fn span(&self, batch: u64, rows: u64, cols: u64) -> Option<u64> {
        if batch == 0 || rows == 0 || cols == 0 {
            return Some(0);
        }
        let (Some(b), Some(r), Some(c)) =
            (self.batch.checked_mul(batch - 1), self.row.checked_mul(rows - 1), self.col.checked_mul(cols - 1))
        else {
            return None;
        };
        let Some(last) = b.checked_add(r) else { return None };
        let Some(last) = last.checked_add(c) else { return None };
        last.checked_add(1)
    }
}

/// `C[i] = act(A[i] B[i] + bias)` for `i < batch`, or `C[i] += A[i] B[i]`; A is m x k, B is k x n, C is m x n, bias has n
/// elements and is added to every row. A sum over `k = 0` terms is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct GemmParams {
    /// Number of products.
    pub batch: u64,
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
    /// Layout of C. No two elements share a place, except that a batch stride of 0 with [`GemmParams::accumulate`] sums
    /// the products of the batch, in order.
    pub c: MatrixStrides,
    /// 1 to add to C, 0 to overwrite it. An accumulating product has neither bias nor activation.
    pub accumulate: u32,
    /// The function applied after the bias.
    pub activation: Activation,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_ends_behind_the_last_element() {
        let s = MatrixStrides { batch: 6, row: 3, col: 1 };
        assert_eq!(s.span(2, 2, 3), Some(12));
        assert_eq!(s.span(0, 2, 3), Some(0));
        assert_eq!(MatrixStrides { batch: 0, row: 1, col: 2 }.span(9, 2, 3), Some(6));
        assert_eq!(MatrixStrides { batch: 0, row: u64::MAX, col: 2 }.span(9, 3, 3), None);
        assert_eq!(MatrixStrides { batch: 0, row: u64::MAX, col: 1 }.span(9, 2, 1), None);
    }
}
