//! Gram matrices of tall matrices, and products of tall matrices with small ones.
//!
//! Blocks of rows are widened to f64.

use backend_api::{BackendError, Buffer, Queue};
use core_types::params::factor::{MatrixParams, TallParams};

use super::product::{Strides, product};
use crate::{
    CpuQueue,
    simd::{LaneKernel, dispatch},
};

/// Rows of a block: with 48 columns, the block and its results stay in the L2 cache.
const BLOCK: usize = 256;
/// Partial sums of a Gram matrix of many rows, at least.
const FEWEST_PARTS: usize = 8;
/// Most partial sums of a Gram matrix.
const MOST_PARTS: usize = 64;
/// Most elements of all partial sums beyond the fewest: 64 parts of 96 columns.
const MOST_ELEMENTS: usize = MOST_PARTS * 96 * 96;

/// `wide = x`. Lengths are equal.
struct Widen<'a> {
    x: &'a [f32],
    wide: &'a mut [f64],
}

impl<L> LaneKernel<L> for Widen<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        for (wide, &x) in self.wide.iter_mut().zip(self.x) {
            *wide = f64::from(x);
        }
    }
}

/// `x` is `wide`, rounded. Lengths are equal.
struct RoundedCopy<'a> {
    wide: &'a [f64],
    x: &'a mut [f32],
}

impl<L> LaneKernel<L> for RoundedCopy<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        for (x, &wide) in self.x.iter_mut().zip(self.wide) {
            *x = wide as f32;
        }
    }
}

/// `sum += term`. Lengths are equal.
fn add(sum: &mut [f64], term: &[f64]) {
    sum.iter_mut().zip(term).for_each(|(sum, term)| *sum += term);
}

impl CpuQueue {
    /// `G = X^T X`: the sums of parts of the rows, added in their order.
    pub(super) fn gram(&self, p: &MatrixParams, x: &[f32], gram: &mut [f64]) -> Result<(), BackendError> {
        let (rows, cols) = (p.rows as usize, p.cols as usize);
        gram.fill(0.0);
        if rows == 0 || cols == 0 {
            return Ok(());
        }
        let most = (MOST_ELEMENTS / (cols * cols)).clamp(FEWEST_PARTS, MOST_PARTS);
        let part_rows = rows.div_ceil(most).next_multiple_of(BLOCK);
        let mut parts = self.zeros::<f64>(rows.div_ceil(part_rows) * cols * cols)?;
        let tasks = parts.len() / (cols * cols);
        let _scratch = self.reserve_scratch::<f64>(tasks, (BLOCK + cols) * cols)?;
        self.for_chunks(parts.view_mut(), cols * cols, |task, part| {
            let (mut wide, mut square) = (vec![0.0; BLOCK * cols], vec![0.0; cols * cols]);
            let x = &x[task * part_rows * cols..rows.min((task + 1) * part_rows) * cols];
            for x in x.chunks(BLOCK * cols) {
                let wide = &mut wide[..x.len()];
                dispatch(self.simd(), Widen { x, wide });
                let transposed = Strides { row: 1, col: cols };
                product([cols, cols, x.len() / cols], wide, transposed, wide, &mut square);
                add(part, &square);
            }
        });
        parts.view().chunks(cols * cols).for_each(|part| add(gram, part));
        Ok(())
    }

    /// `Y = X C`.
    pub(super) fn tall(&self, p: &TallParams, x: &[f32], c: &[f64], y: &mut [f32]) -> Result<(), BackendError> {
        let (rows, inner, cols) = (p.rows as usize, p.inner as usize, p.cols as usize);
        if y.is_empty() || inner == 0 {
            y.fill(0.0);
            return Ok(());
        }
        let _scratch = self.reserve_scratch::<f64>(rows.div_ceil(BLOCK), BLOCK * (inner + cols))?;
        self.for_chunks(y, BLOCK * cols, |task, y| {
            let count = y.len() / cols;
            let x = &x[task * BLOCK * inner..][..count * inner];
            let (mut wide, mut sums) = (vec![0.0; count * inner], vec![0.0; count * cols]);
            dispatch(self.simd(), Widen { x, wide: &mut wide });
            product([count, cols, inner], &wide, Strides { row: inner, col: 1 }, c, &mut sums);
            dispatch(self.simd(), RoundedCopy { wide: &sums, x: y });
        });
        Ok(())
    }
}
