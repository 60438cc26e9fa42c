//! The factor op set.

mod cholesky;
mod columns;
mod jacobi;
mod peak;
mod product;
mod sketch;
mod tall;

use backend_api::{
    BackendError,
    ops::factor::{
        CholInverse, CompleteColumns, JacobiEigen, MatrixPeak, OrientColumns, ScaleColumns, SignSketch, TallGram,
        TallProduct,
    },
};
use core_types::params::factor::{power_of_two, scale_exponent};

use crate::checked::FactorOps;
use crate::{CpuQueue, simd::dispatch};

impl FactorOps for CpuQueue {
    fn chol_inverse(&self, op: CholInverse<'_, Self>) -> Result<(), BackendError> {
        let scale = op.peak.map_or(1.0, |peak| power_of_two(-scale_exponent(peak[0])));
        op.inverse.copy_from_slice(op.gram);
        dispatch(self.simd(), cholesky::Inverse { side: op.side, matrix: op.inverse, scale });
        Ok(())
    }

    fn complete_columns(&self, op: CompleteColumns<'_, Self>) -> Result<(), BackendError> {
        self.complete(op.params, op.rank[0] as usize, op.x)
    }

    fn jacobi_eigen(&self, op: JacobiEigen<'_, Self>) -> Result<(), BackendError> {
        self.eigenvectors(op)
    }

    fn matrix_peak(&self, op: MatrixPeak<'_, Self>) -> Result<(), BackendError> {
        op.peak[0] = self.peak(op.a)?;
        Ok(())
    }

    fn orient_columns(&self, op: OrientColumns<'_, Self>) -> Result<(), BackendError> {
        self.orient(op.params.cols as usize, op.u, op.v)
    }

    fn scale_columns(&self, op: ScaleColumns<'_, Self>) -> Result<(), BackendError> {
        self.scale(op)
    }

    fn sign_sketch(&self, op: SignSketch<'_, Self>) -> Result<(), BackendError> {
        self.sketch(op.params.seed, op.peak[0], op.omega);
        Ok(())
    }

    fn tall_gram(&self, op: TallGram<'_, Self>) -> Result<(), BackendError> {
        self.gram(op.params, op.x, op.gram)
    }

    fn tall_product(&self, op: TallProduct<'_, Self>) -> Result<(), BackendError> {
        self.tall(op.params, op.x, op.c, op.y)
    }
}
