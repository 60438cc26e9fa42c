//! Residuals in factors of low rank.

use nn_ops::Functional as _;

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
        let scaled = q.mul(&*u, &*s)?;
        Ok(GpuTensor::new(q, q.matmul(&scaled, &v.transposed()?)?))
    }
}
