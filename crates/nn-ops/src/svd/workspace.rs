//! The memory that decompositions work in.

use backend_api::Queue;

/// Memory that the decompositions of a [`SvdPlan`](crate::SvdPlan) work in, made once for all of them.
pub struct SvdWorkspace<Q: Queue> {
    /// Matrices with as many rows as the longer side of A: a sketch, and what it becomes.
    pub(super) long: [Q::Buf<f32>; 2],
    /// Matrices with as many rows as the shorter side.
    pub(super) short: [Q::Buf<f32>; 2],
    pub(super) gram: Q::Buf<f64>,
    /// Coefficients that make columns orthonormal.
    pub(super) inverse: Q::Buf<f64>,
    /// Eigenvectors of a Gram matrix, and the same divided by singular values.
    pub(super) vectors: [Q::Buf<f64>; 2],
    /// The word 0.
    pub(super) zero: Q::Buf<u32>,
}

impl<Q: Queue> core::fmt::Debug for SvdWorkspace<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SvdWorkspace").finish_non_exhaustive()
    }
}
