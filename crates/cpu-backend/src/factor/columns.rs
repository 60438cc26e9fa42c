//! Ops on whole columns: completion to an orthonormal set, signs, factors.
//!
//! A completed column is `e_i - X X^T e_i`, projected twice and divided by its length, where X has
//! the columns before it and row `i` of X is the shortest.

use backend_api::{BackendError, Buffer, Queue, ops::factor::ScaleColumns};
use core_types::params::factor::{MatrixParams, ScaleParams};

use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{LaneKernel, dispatch},
};

/// Doubles that sums are spread over.
const LANES: usize = 8;

/// The entry of largest magnitude of each column, the first of such entries.
struct Largest<'a> {
    x: &'a [f32],
    largest: &'a mut [f32],
}

impl<L> LaneKernel<L> for Largest<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        for row in self.x.chunks_exact(self.largest.len()) {
            for (largest, &x) in self.largest.iter_mut().zip(row) {
                *largest = if x.abs() > largest.abs() { x } else { *largest };
            }
        }
    }
}

/// `y = f x` for the factor of each column.
struct Scale<'a> {
    x: &'a [f32],
    factors: &'a [f32],
    y: &'a mut [f32],
}

impl<L> LaneKernel<L> for Scale<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let cols = self.factors.len();
        for (y, x) in self.y.chunks_exact_mut(cols).zip(self.x.chunks_exact(cols)) {
            for ((y, &x), &factor) in y.iter_mut().zip(x).zip(self.factors) {
                *y = factor * x;
            }
        }
    }
}

/// Changes the sign of columns, where `signs` have the sign bit.
struct Negate<'a> {
    x: &'a mut [f32],
    signs: &'a [u32],
}

impl<L> LaneKernel<L> for Negate<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        for row in self.x.chunks_exact_mut(self.signs.len()) {
            for (x, &sign) in row.iter_mut().zip(self.signs) {
                *x = f32::from_bits(x.to_bits() ^ sign);
            }
        }
    }
}

/// Replaces column `j` by a unit vector less its projection on the columns before.
///
/// The unit vector is the one of the row with the least part in these columns.
struct Complete<'a> {
    cols: usize,
    j: usize,
    x: &'a mut [f32],
    /// The column.
    column: &'a mut [f64],
    /// For each row, the sum of the squares of its entries before the column.
    ///
    /// The step adds the square of the entry in the column.
    parts: &'a mut [f64],
    /// Of the columns before with this one.
    products: &'a mut [f64],
}

impl<L> LaneKernel<L> for Complete<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let Self { cols, j, x, column, parts, products } = self;
        // The row with the least part in the columns before gives the unit vector.
        let (mut least, mut place) = (f64::INFINITY, 0);
        for (i, &part) in parts.iter().enumerate() {
            if part < least {
                (least, place) = (part, i);
            }
        }
        column.fill(0.0);
        column[place] = 1.0;
        // A second projection removes the rounding of the first.
        for _ in 0..2 {
            products.fill(0.0);
            // Products of the columns before with the new one.
            for (row, &entry) in x.chunks_exact(cols).zip(&*column) {
                for (product, &x) in products.iter_mut().zip(row) {
                    *product += entry * f64::from(x);
                }
            }
            // The projection on these columns is subtracted.
            for (row, entry) in x.chunks_exact(cols).zip(column.iter_mut()) {
                let mut sums = [0.0; LANES];
                let (whole, rest) = products.as_chunks::<LANES>();
                let (rows, last) = row[..j].as_chunks::<LANES>();
                for (products, row) in whole.iter().zip(rows) {
                    for ((sum, product), &x) in sums.iter_mut().zip(products).zip(row) {
                        *sum += product * f64::from(x);
                    }
                }
                for ((sum, product), &x) in sums.iter_mut().zip(rest).zip(last) {
                    *sum += product * f64::from(x);
                }
                *entry -= sums.iter().sum::<f64>();
            }
        }
        // The column is divided by its length, and the parts of the rows are updated.
        let scale = 1.0 / column.iter().map(|x| x * x).sum::<f64>().sqrt();
        for ((row, &entry), part) in x.chunks_exact_mut(cols).zip(&*column).zip(parts) {
            row[j] = (entry * scale) as f32;
            *part += f64::from(row[j]) * f64::from(row[j]);
        }
    }
}

impl CpuQueue {
    /// Makes the entry of largest magnitude of each column of U positive.
    ///
    /// It negates columns of U and V together.
    pub(super) fn orient(&self, cols: usize, u: &mut [f32], v: &mut [f32]) -> Result<(), BackendError> {
        if cols == 0 {
            return Ok(());
        }
        let (mut largest, mut signs) = (self.zeros::<f32>(cols)?, self.zeros::<u32>(cols)?);
        dispatch(self.simd(), Largest { x: &*u, largest: largest.view_mut() });
        for (sign, largest) in signs.view_mut().iter_mut().zip(largest.view()) {
            *sign = largest.to_bits() & 1 << 31;
        }
        for x in [u, v] {
            dispatch(self.simd(), Negate { x, signs: signs.view() });
        }
        Ok(())
    }

    /// Runs an op whose views have been checked.
    pub(super) fn scale(&self, op: ScaleColumns<'_, Self>) -> Result<(), BackendError> {
        let ScaleParams { matrix, alpha } = *op.params;
        let cols = matrix.cols as usize;
        if op.y.is_empty() {
            return Ok(());
        }
        let mut factors = self.alloc::<f32>(cols)?;
        factors.view_mut().iter_mut().zip(op.factors).for_each(|(factor, &f)| *factor = alpha * f);
        let chunk = CHUNK.div_ceil(cols) * cols;
        self.for_chunks(op.y, chunk, |i, y| {
            let x = &op.x[i * chunk..][..y.len()];
            dispatch(self.simd(), Scale { x, factors: factors.view(), y });
        });
        Ok(())
    }

    /// Replaces the columns from `rank` on so that all are orthonormal.
    pub(super) fn complete(&self, p: &MatrixParams, rank: usize, x: &mut [f32]) -> Result<(), BackendError> {
        let (rows, cols) = (p.rows as usize, p.cols as usize);
        if rank >= cols {
            return Ok(());
        }
        let (mut column, mut parts) = (self.zeros::<f64>(rows)?, self.zeros::<f64>(rows)?);
        let mut products = self.zeros::<f64>(cols)?;
        let (column, parts, products) = (column.view_mut(), parts.view_mut(), products.view_mut());
        for (part, row) in parts.iter_mut().zip(x.chunks_exact(cols)) {
            *part = row[..rank].iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        }
        for j in rank..cols {
            dispatch(self.simd(), Complete { cols, j, x: &mut *x, column, parts, products: &mut products[..j] });
        }
        Ok(())
    }
}
