//! What is done to whole columns: completion to an orthonormal set, signs, factors.

use backend_api::{BackendError, Buffer, Queue, ops::factor::ScaleColumns};
use core_types::params::factor::{MatrixParams, ScaleParams};

use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{Kernel, dispatch},
};

/// The entry of largest magnitude of each column, the first of such entries.
struct Largest<'a> {
    x: &'a [f32],
    largest: &'a mut [f32],
}

impl<L> Kernel<L> for Largest<'_> {
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

impl<L> Kernel<L> for Scale<'_> {
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

impl<L> Kernel<L> for Negate<'_> {
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

impl CpuQueue {
    /// Makes the entry of largest magnitude of each column of U positive, and negates columns of V with those of U.
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

    /// Replaces the columns from `rank` on so that all are orthonormal. Few matrices need it, so it is plain.
    pub(super) fn complete(&self, p: &MatrixParams, rank: usize, x: &mut [f32]) -> Result<(), BackendError> {
        let (rows, cols) = (p.rows as usize, p.cols as usize);
        let mut column = self.zeros::<f64>(if rank < cols { rows } else { 0 })?;
        let column = column.view_mut();
        for j in rank..cols {
            let (mut least, mut place) = (f64::INFINITY, 0);
            for (i, row) in x.chunks_exact(cols).enumerate() {
                let part = row[..j].iter().map(|&x| f64::from(x) * f64::from(x)).sum();
                if part < least {
                    (least, place) = (part, i);
                }
            }
            column.fill(0.0);
            column[place] = 1.0;
            for _ in 0..2 {
                for c in 0..j {
                    let entries = || x.iter().skip(c).step_by(cols).map(|&x| f64::from(x));
                    let product: f64 = column.iter().zip(entries()).map(|(a, b)| a * b).sum();
                    column.iter_mut().zip(entries()).for_each(|(a, b)| *a -= product * b);
                }
            }
            let length = column.iter().map(|x| x * x).sum::<f64>().sqrt();
            for (row, &entry) in x.chunks_exact_mut(cols).zip(&*column) {
                row[j] = (entry / length) as f32;
            }
        }
        Ok(())
    }
}
