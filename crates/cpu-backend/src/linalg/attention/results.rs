//! Results, which tasks write in turns.

use std::sync::{Mutex, PoisonError};

use core_types::params::attention::HeadStrides;

use super::{operands::Operands, repair};
use crate::{
    Simd,
    linalg::{convert::narrow, reals::RealsMut},
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// The rows that tasks write, in turns.
pub(super) struct HeadResults<'a> {
    x: Mutex<RealsMut<'a>>,
    strides: HeadStrides,
    dim: usize,
}

impl<'a> HeadResults<'a> {
    pub(super) fn new(x: RealsMut<'a>, strides: HeadStrides, dim: u64) -> Self {
        Self { x: Mutex::new(x), strides, dim: dim as usize }
    }

    /// Writes `rows`, which follow each other, from row `first` of a batch and head.
    pub(super) fn write(&self, simd: Simd, [batch, head]: [usize; 2], first: usize, rows: &[f32]) {
        if rows.is_empty() {
            return;
        }
        let start = self.strides.start(batch as u64, head as u64, first as u64) as usize;
        let mut x = self.x.lock().unwrap_or_else(PoisonError::into_inner);
        let len = x.len();
        dispatch(
            simd,
            NarrowRows { from: rows, dim: self.dim, to: x.range(start..len), stride: self.strides.row as usize },
        );
    }
}

struct NarrowRows<'a> {
    from: &'a [f32],
    dim: usize,
    to: RealsMut<'a>,
    stride: usize,
}

impl<L: Floats> LaneKernel<L> for NarrowRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        for (i, row) in self.from.chunks_exact(self.dim).enumerate() {
            let at = i * self.stride;
            narrow(l, row, self.to.range(at..at + self.dim));
        }
    }
}

/// The results that all tasks write.
pub(super) struct Results<'a> {
    y: HeadResults<'a>,
    /// Empty if not wanted.
    lse: Mutex<&'a mut [f32]>,
}

impl<'a> Results<'a> {
    pub(super) fn new(y: HeadResults<'a>, lse: &'a mut [f32]) -> Self {
        Self { y, lse: Mutex::new(lse) }
    }

    /// Writes the rows and logarithms of queries from `first` of a batch and head.
    pub(super) fn write(
        &self,
        simd: Simd,
        o: &Operands<'_>,
        head: [usize; 2],
        first: usize,
        rows: &[f32],
        logs: &[f32],
    ) {
        self.y.write(simd, head, first, rows);
        let at = o.query_index(head, first);
        let mut lse = self.lse.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lse) = lse.get_mut(at..at + logs.len()) {
            lse.copy_from_slice(logs);
        }
    }
}

/// Divides the weighted sum of the values of a query by the sum of its weights.
///
/// Returns the logarithm of the sum of the exponentials of its scores.
pub(super) fn normalise(
    o: &Operands<'_>,
    head: [usize; 2],
    query: usize,
    greatest: f32,
    sum: f32,
    y: &mut [f32],
) -> f32 {
    // A query without keys gets zeros.
    if sum == 0.0 {
        y.fill(0.0);
        return f32::NEG_INFINITY;
    }
    let factor = 1.0 / sum;
    y.iter_mut().for_each(|y| *y *= factor);
    if !is_finite(y) && !sum.is_nan() {
        repair::result(o, head, query, y);
    }
    greatest + sum.ln()
}

/// Whether all elements are finite.
pub(super) fn is_finite(row: &[f32]) -> bool {
    // Without an early end, which would keep the loop from being vectorised.
    row.iter().fold(true, |all, x| all & x.is_finite())
}
