//! The factor op set.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Queue as _,
    ops::factor::{
        CholInverse, CompleteColumns, JacobiEigen, MatrixPeak, OrientColumns, ScaleColumns, SignSketch, TallGram,
        TallProduct,
    },
};
use core_types::params::factor::SHARED_SIDE;

use crate::checked::FactorOps;
use crate::{CudaQueue, launch::nn::factor};

/// Most partial sums of a Gram matrix in shared memory.
///
/// With up to six tiles each, they keep a card busy, and one thread can add them. Larger matrices
/// have more tiles, and fewer parts with at most the same elements in all.
const MOST_PARTS: u64 = 64;
/// Least rows of a part, and its granularity: the depth of a tile.
const LEAST_ROWS: u64 = 64;
const DEPTH: u64 = 32;

impl FactorOps for CudaQueue {
    fn chol_inverse(&self, op: CholInverse<'_, Self>) -> Result<(), BackendError> {
        if op.side == 0 {
            return Ok(());
        }
        factor::inverse(self, &op)
    }

    fn complete_columns(&self, op: CompleteColumns<'_, Self>) -> Result<(), BackendError> {
        if op.x.is_empty() {
            return Ok(());
        }
        let mut products = self.alloc(op.params.cols as usize)?;
        factor::complete(self, &op, &products.view_mut())
    }

    fn jacobi_eigen(&self, op: JacobiEigen<'_, Self>) -> Result<(), BackendError> {
        if op.params.side <= SHARED_SIDE {
            return factor::jacobi(self, &op, None);
        }
        let mut matrix = self.alloc(op.gram.len())?;
        factor::jacobi(self, &op, Some(&matrix.view_mut()))
    }

    fn matrix_peak(&self, op: MatrixPeak<'_, Self>) -> Result<(), BackendError> {
        let mut op = op;
        self.clear(op.peak.reborrow())?;
        factor::peak(self, &op)
    }

    fn orient_columns(&self, op: OrientColumns<'_, Self>) -> Result<(), BackendError> {
        factor::orient(self, &op)
    }

    fn scale_columns(&self, op: ScaleColumns<'_, Self>) -> Result<(), BackendError> {
        factor::scale(self, &op)
    }

    fn sign_sketch(&self, op: SignSketch<'_, Self>) -> Result<(), BackendError> {
        factor::sketch(self, &op)
    }

    fn tall_gram(&self, op: TallGram<'_, Self>) -> Result<(), BackendError> {
        let (rows, cols) = (op.params.rows, op.params.cols as usize);
        if rows == 0 || cols == 0 {
            return self.clear(op.gram);
        }
        let most = (MOST_PARTS * SHARED_SIDE * SHARED_SIDE / (cols * cols) as u64).clamp(1, MOST_PARTS);
        let part_rows = rows.div_ceil(most).max(LEAST_ROWS).next_multiple_of(DEPTH);
        let count = rows.div_ceil(part_rows);
        let mut parts = self.alloc(count as usize * cols * cols)?;
        factor::gram(self, &op, part_rows as u32, &parts.view_mut())?; // fewer than 2^31 rows
        factor::gram_join(self, cols as u32, count as u32, parts.view(), &op.gram)
    }

    fn tall_product(&self, op: TallProduct<'_, Self>) -> Result<(), BackendError> {
        factor::product(self, &op)
    }
}
