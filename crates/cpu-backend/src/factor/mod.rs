//! The factor op set.

mod cholesky;
mod columns;
mod jacobi;
mod product;
mod tall;

use backend_api::{
    BackendError, Buffer, Queue,
    ops::factor::{
        CholInverse, CompleteColumns, JacobiEigen, MatrixPeak, OrientColumns, ScaleColumns, SignSketch, TallGram,
        TallProduct,
    },
};
use core_types::{
    params::factor::{power_of_two, scale_exponent},
    philox,
};

use crate::checked::FactorOps;
use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{LaneKernel, dispatch},
};

/// The greatest pattern of a magnitude.
struct Greatest<'a>(&'a [f32]);

impl<L> LaneKernel<L> for Greatest<'_> {
    type Out = u32;

    #[inline(always)]
    fn run(self, _: L) -> u32 {
        let mut greatest = 0;
        for x in self.0 {
            greatest = u32::max(greatest, x.to_bits() & 0x7fff_ffff);
        }
        greatest
    }
}

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
        let MatrixPeak { a, peak } = op;
        let mut parts = self.zeros::<u32>(a.len().div_ceil(CHUNK))?;
        self.for_chunks(parts.view_mut(), 1, |i, part| {
            let a = &a[i * CHUNK..a.len().min((i + 1) * CHUNK)];
            part[0] = dispatch(self.simd(), Greatest(a));
        });
        peak[0] = parts.view().iter().copied().max().unwrap_or(0);
        Ok(())
    }

    fn orient_columns(&self, op: OrientColumns<'_, Self>) -> Result<(), BackendError> {
        self.orient(op.params.cols as usize, op.u, op.v)
    }

    fn scale_columns(&self, op: ScaleColumns<'_, Self>) -> Result<(), BackendError> {
        self.scale(op)
    }

    fn sign_sketch(&self, op: SignSketch<'_, Self>) -> Result<(), BackendError> {
        // Element `i` is plus or minus a power of two, with bit 31 of Philox word `i` as its sign bit (Salmon et al.,
        // SC 2011).
        let SignSketch { params, peak, omega } = op;
        let unit = (power_of_two(-scale_exponent(peak[0])) as f32).to_bits();
        self.for_chunks(omega, CHUNK, |chunk, omega| {
            for (i, signs) in omega.chunks_mut(4).enumerate() {
                let words = philox::block(params.seed, 0, 0, (chunk * (CHUNK / 4) + i) as u64);
                for (sign, word) in signs.iter_mut().zip(words) {
                    *sign = f32::from_bits(unit | (word & 1 << 31));
                }
            }
        });
        Ok(())
    }

    fn tall_gram(&self, op: TallGram<'_, Self>) -> Result<(), BackendError> {
        self.gram(op.params, op.x, op.gram)
    }

    fn tall_product(&self, op: TallProduct<'_, Self>) -> Result<(), BackendError> {
        self.tall(op.params, op.x, op.c, op.y)
    }
}
