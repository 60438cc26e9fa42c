//! Batched matrix products with bias and activation.

use core_types::params::{
    elementwise::Activation,
    gemm::{GemmParams, MatrixStrides},
};

use crate::{
    Real,
    ops::{op, op::flop::of_gemm},
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! gemm_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Matrix products.
            ///
            /// Every op returns [`BackendError::Length`] if strides would leave a view, and
            /// [`BackendError::OutOfMemory`] or [`BackendError::BudgetExceeded`] for scratch
            /// memory.
            linalg::GemmOps: Queue {
                gemm<T>(Gemm),
            }
        }
    };
}

op! {
    /// Computes a batch of matrix products, with f32 sums and one rounding to `T`.
    ///
    /// The order of each sum depends only on the shape. Each sum is multiplied by
    /// [`alpha`](GemmParams::alpha). Results that share elements are refused, and so is a bias or
    /// an activation on a product that accumulates.
    pub struct Gemm<'a, Q, T: Real> as "gemm" {
        /// Shapes, strides and epilogue.
        params: plain &'a GemmParams,
        /// Every element that its strides reach.
        a: read T [>= reached_by_a],
        /// Every element that its strides reach.
        b: read T [>= reached_by_b],
        /// Added to every row.
        bias: read_if T [n],
        /// Every element that its strides reach.
        c: write T [>= reached_by_c],
    }
    sizes(self) {
        let p = self.params;
        let reached = |strides: &MatrixStrides, rows, cols| strides.span(p.batch, rows, cols).unwrap_or(u64::MAX);
        let (reached_by_a, reached_by_b) = (reached(&p.a, p.m, p.k), reached(&p.b, p.k, p.n));
        let (reached_by_c, n) = (reached(&p.c, p.m, p.n), p.n);
        let accumulates = p.accumulate == 1;
    }
    valid(self) {
        results_are_apart(p, accumulates), "elements of the result overlap";
        !accumulates || (self.bias.is_none() && p.activation == Activation::Identity), "accumulation cannot be combined with a bias or an activation";
    }
    flop(self) {
        of_gemm(self.params)
    }
}

/// Whether each stride of the result steps past everything that the shorter ones reach.
///
/// Matrices may be `repeated` along leading axes. The result lies within a view.
fn results_are_apart(p: &GemmParams, repeated: bool) -> bool {
    let leading = p.batch.into_iter().zip(p.c.batch);
    if p.batch.contains(&0) || p.m == 0 || p.n == 0 {
        return true;
    }
    let matrix = [(p.m, p.c.row), (p.n, p.c.col)];
    let walked = leading.filter(|&(_, stride)| !(repeated && stride == 0)).chain(matrix);
    let mut axes: Vec<_> = walked.filter(|&(len, _)| len > 1).map(|(len, stride)| (stride, len)).collect();
    axes.sort_unstable();
    let mut reached = 0;
    axes.into_iter().all(|(stride, len)| {
        let apart = stride > reached;
        reached += stride * (len - 1);
        apart
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A product of one element, whose matrices all have these strides.
    fn plain(strides: MatrixStrides) -> GemmParams {
        GemmParams {
            batch: [1; 4],
            m: 1,
            n: 1,
            k: 1,
            a: strides,
            b: strides,
            c: strides,
            accumulate: 0,
            activation: Activation::Identity,
            alpha: 1.0,
            reserved: 0,
        }
    }

    /// The places of the elements of C, counted one by one.
    fn places_differ(p: &GemmParams) -> bool {
        let lens = [p.batch[0], p.batch[1], p.batch[2], p.batch[3], p.m, p.n];
        let strides = [p.c.batch[0], p.c.batch[1], p.c.batch[2], p.c.batch[3], p.c.row, p.c.col];
        let mut places = vec![0u64];
        for (len, stride) in lens.into_iter().zip(strides) {
            places = places.iter().flat_map(|place| (0..len).map(move |i| place + i * stride)).collect();
        }
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        places.len() == count
    }

    #[test]
    fn results_that_overlap_are_never_taken_for_apart() {
        let mut apart = 0;
        for code in 0..6u64.pow(6) {
            let digit = |i| code / 6u64.pow(i) % 6;
            let batch = [1, 1, 1 + digit(0) % 3, 2];
            let c = MatrixStrides { batch: [9, 9, digit(1) * digit(1), digit(2)], row: digit(3), col: digit(4) };
            let (m, n) = (1 + digit(5) % 3, 1 + digit(5) / 3);
            let p = GemmParams { batch, m, n, ..plain(c) };
            if results_are_apart(&p, false) {
                apart += 1;
                assert!(places_differ(&p), "{p:?}");
            }
        }
        assert!(apart > 1000, "{apart}");
    }

    #[test]
    fn nested_layouts_are_apart_in_any_order_of_axes() {
        for (row, col, batch) in [(4, 1, 12), (1, 3, 12), (8, 2, 1), (2, 6, 1), (20, 1, 5)] {
            let c = MatrixStrides { batch: [0, 0, 0, batch], row, col };
            let (m, n) = (3, 4);
            let p = GemmParams { batch: [1, 1, 1, 2], m, n, ..plain(c) };
            assert!(results_are_apart(&p, false) && places_differ(&p), "{p:?}");
        }
    }
}
