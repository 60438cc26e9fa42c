//! The memory that decompositions work in.

use backend_api::{Buffer, Queue};

use crate::error::Result;

/// Elements of the buffers, in the order of the fields; pairs of equal length have one entry.
pub(super) type Lengths = [usize; 6];

/// Memory for the decompositions of a [`SvdPlan`](crate::SvdPlan).
///
/// It is made once for all of them.
pub struct SvdWorkspace<Q: Queue> {
    /// Matrices with the number of rows of the longer side of A: a sketch, and its successor.
    pub(super) long: [Q::Buf<f32>; 2],
    /// Matrices with the number of rows of the shorter side.
    ///
    /// For a direct decomposition, the unit matrix and nothing.
    pub(super) short: [Q::Buf<f32>; 2],
    pub(super) gram: Q::Buf<f64>,
    /// Coefficients that make columns orthonormal.
    pub(super) inverse: Q::Buf<f64>,
    /// Eigenvectors of a Gram matrix, and the same divided by singular values.
    pub(super) vectors: [Q::Buf<f64>; 2],
}

impl<Q: Queue> SvdWorkspace<Q> {
    /// Memory of these lengths.
    pub(super) fn new(q: &Q, [y, basis, z, dual, square, vectors]: Lengths) -> Result<Self> {
        Ok(Self {
            long: [q.alloc(y)?, q.alloc(basis)?],
            short: [q.alloc(z)?, q.alloc(dual)?],
            gram: q.alloc(square)?,
            inverse: q.alloc(square)?,
            vectors: [q.alloc(vectors)?, q.alloc(vectors)?],
        })
    }

    /// The lengths that it was made with.
    pub(super) fn lengths(&self) -> Lengths {
        let Self { long: [y, basis], short: [z, dual], gram, vectors: [vectors, _], .. } = self;
        [y.len(), basis.len(), z.len(), dual.len(), gram.len(), vectors.len()]
    }
}

debug_fields!(SvdWorkspace<Q: Queue>);
