//! The result of a decomposition.

use backend_api::{Buffer, Queue};
use core_types::params::factor::is_finite;

use crate::{
    error::{NnError, Result},
    tensor::{Layout, TensorRef},
};

/// The factors of `A ~ U diag(S) V^T`, on the queue's device.
pub struct SvdFactors<Q: Queue> {
    pub(super) shapes: [Layout; 3],
    pub(super) u: Q::Buf<f32>,
    pub(super) s: Q::Buf<f32>,
    pub(super) v: Q::Buf<f32>,
    /// The pattern of the greatest magnitude of A.
    pub(super) peak: Q::Buf<u32>,
    /// How many singular values are not zero.
    pub(super) rank: Q::Buf<u32>,
}

impl<Q: Queue> SvdFactors<Q> {
    /// Left singular vectors as orthonormal columns: `[m, k]`.
    ///
    /// The entry of largest magnitude of each is positive, the first of such entries.
    #[must_use]
    pub fn u(&self) -> TensorRef<'_, Q, f32> {
        TensorRef::whole(self.u.view(), self.shapes[0])
    }

    /// Singular values, falling: `[k]`.
    #[must_use]
    pub fn s(&self) -> TensorRef<'_, Q, f32> {
        TensorRef::whole(self.s.view(), self.shapes[1])
    }

    /// Right singular vectors as orthonormal columns: `[n, k]`.
    ///
    /// Its [`transposed`](TensorRef::transposed) is the factor of products.
    #[must_use]
    pub fn v(&self) -> TensorRef<'_, Q, f32> {
        TensorRef::whole(self.v.view(), self.shapes[2])
    }

    /// How many singular values are not zero, of the last decomposition, which this waits for.
    ///
    /// Of the others the vectors are orthonormal and otherwise arbitrary.
    ///
    /// # Errors
    /// [`NnError::Numerical`] if the matrix had an element that was not finite, in which case the
    /// factors mean nothing, or a singular value beyond f32; [`NnError::Backend`].
    pub fn rank(&self, q: &Q) -> Result<usize> {
        const OP: &str = "svd";
        if !q.download(&self.peak)?.into_iter().all(is_finite) {
            return Err(NnError::Numerical { op: OP, why: "an element of the matrix is not finite" });
        }
        if !q.read(self.s.view())?.into_iter().all(f32::is_finite) {
            return Err(NnError::Numerical { op: OP, why: "a singular value is beyond f32" });
        }
        Ok(q.download(&self.rank)?.into_iter().map(|rank| rank as usize).sum())
    }
}

impl<Q: Queue> core::fmt::Debug for SvdFactors<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SvdFactors").field("u", &self.shapes[0]).field("v", &self.shapes[2]).finish_non_exhaustive()
    }
}
