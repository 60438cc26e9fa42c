//! Residuals in factors of low rank.

use nn_ops::{Binary, NnError, Tensor, TensorRef, binary, matmul};
use runtime::AnyQueue;

use crate::{error::AccelError, tensor::GpuTensor};

/// A residual `[m, n]` in factors of rank k: `U diag(S) V^T`.
#[derive(Clone, Debug)]
pub struct CompressedGpuTensor {
    u: GpuTensor,
    s: GpuTensor,
    v: GpuTensor,
    rank: usize,
}

impl CompressedGpuTensor {
    /// The factors `[m, k]`, `[k]` and `[n, k]`.
    pub(crate) fn new([u, s, v]: [GpuTensor; 3], rank: usize) -> Self {
        Self { u, s, v, rank }
    }

    /// The rank k: the requested one, at most m and n.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The left singular vectors as columns, `[m, k]`.
    #[must_use]
    pub fn u(&self) -> &GpuTensor {
        &self.u
    }

    /// The singular values, falling, `[k]`.
    #[must_use]
    pub fn s(&self) -> &GpuTensor {
        &self.s
    }

    /// The right singular vectors as columns, `[n, k]`.
    #[must_use]
    pub fn v(&self) -> &GpuTensor {
        &self.v
    }

    /// Elements of the factors divided by the elements of the residual.
    #[must_use]
    pub fn compression_ratio(&self) -> f64 {
        let of_factors = self.u.numel() + self.s.numel() + self.v.numel();
        let whole = self.u.shape().first().copied().unwrap_or(0) * self.v.shape().first().copied().unwrap_or(0);
        of_factors as f64 / whole as f64
    }

    /// Computes the residual of this rank, `[m, n]`.
    ///
    /// # Errors
    /// [`AccelError::Ops`] if memory is short, and from the device.
    pub fn reconstruct(&self) -> Result<GpuTensor, AccelError> {
        let q = self.u.queue();
        let (u, s, v) = (self.u.widened()?, self.s.widened()?, self.v.widened()?);
        let rows = |tensor: &GpuTensor| tensor.shape().first().copied().unwrap_or(0);
        let mut scaled = Tensor::alloc(q, self.u.shape())?;
        let mut whole = Tensor::alloc(q, &[rows(&self.u), rows(&self.v)])?;
        multiply(q, u.at(), s.at(), v.at(), &mut scaled, &mut whole)?;
        Ok(GpuTensor::new(q, whole))
    }
}

/// `whole = U diag(S) V^T`, with `scaled = U diag(S)` on the way.
pub(crate) fn multiply(
    q: &AnyQueue,
    u: TensorRef<'_, AnyQueue, f32>,
    s: TensorRef<'_, AnyQueue, f32>,
    v: TensorRef<'_, AnyQueue, f32>,
    scaled: &mut Tensor<AnyQueue, f32>,
    whole: &mut Tensor<AnyQueue, f32>,
) -> Result<(), NnError> {
    binary(q, Binary::Mul, u, s, scaled.at_mut())?;
    matmul(q, scaled.at(), v.transposed()?, whole.at_mut())
}
