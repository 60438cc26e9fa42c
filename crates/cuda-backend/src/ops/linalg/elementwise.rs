//! Elementwise ops and sums over an axis.
//!
//! This chooses the kernel for each layout, and the parts that a long sum is cut into.

use backend_api::{
    BackendError, Buffer, BufferMut, Queue, Real,
    ops::linalg::{Activate, ActivateBackward, Axpby, Binary, Dropout, SumAxis},
};

use crate::checked::ElementwiseOps;
use core_types::params::elementwise::{BinaryParams, MAX_RANK, SumParams};

use crate::{
    CudaMut, CudaQueue, CudaRef,
    launch::linalg::{
        elementwise,
        sum::{self, SumCut},
    },
};

/// Parts of a summed axis have at least this many elements of a row, or rows of a column.
const LEAST_PART: u64 = 256;
/// Blocks that keep any card busy.
const BUSY_BLOCKS: u64 = 512;

impl ElementwiseOps for CudaQueue {
    fn activate<T: Real>(&self, op: Activate<'_, Self, T>) -> Result<(), BackendError> {
        elementwise::activate(self, op.f, op.x, &op.y)
    }

    fn activate_backward<T: Real>(&self, op: ActivateBackward<'_, Self, T>) -> Result<(), BackendError> {
        elementwise::activate_backward(self, op.f, op.saved, op.g, &op.dx)
    }

    fn binary<T: Real>(&self, op: Binary<'_, Self, T>) -> Result<(), BackendError> {
        let Binary { params: p, a, b, y } = op;
        if y.is_empty() {
            return Ok(());
        }
        let rank = (p.rank as usize).min(MAX_RANK);
        let shape = &p.shape[..rank];
        if is_flat(shape, &p.a_strides) && is_flat(shape, &p.b_strides) {
            return elementwise::binary(self, p.op, a, b, &y);
        }
        let len = u32::try_from(y.len()).map_err(|_| BackendError::Unsupported {
            op: "binary",
            why: "expected fewer than 2^32 elements with strides",
        })?;
        elementwise::binary_strided(self, &BinaryParams { rank: rank as u32, ..*p }, len, a, b, &y)
    }

    fn axpby<T: Real>(&self, op: Axpby<'_, Self, T>) -> Result<(), BackendError> {
        elementwise::axpby(self, op.alpha, op.beta, op.x, &op.y)
    }

    fn sum_axis<T: Real>(&self, op: SumAxis<'_, Self, T>) -> Result<(), BackendError> {
        let SumAxis { params: p, x, y } = op;
        if y.is_empty() {
            return Ok(());
        }
        if p.inner > 1 {
            return sum_columns(self, p, p.inner, x, &y);
        }
        let cut = cut("sum_axis", p.len, rows(p.outer))?;
        if cut.parts == 1 {
            return sum::rows(self, p, cut, x, &y, None);
        }
        let mut parts = self.alloc(cut.parts as usize * y.len())?;
        sum::rows(self, p, cut, x, &y, Some(&parts.view_mut()))?;
        sum::join(self, p, cut.parts, parts.view(), &y)
    }

    fn dropout<T: Real>(&self, op: Dropout<'_, Self, T>) -> Result<(), BackendError> {
        elementwise::dropout(self, op.params, op.state, op.x, &op.y)
    }
}

/// Sums columns of rows that lie `pitch` elements apart.
///
/// y has an element for each outer index and column.
pub(super) fn sum_columns<X: Real, Y: Real>(
    queue: &CudaQueue,
    p: &SumParams,
    pitch: u64,
    x: CudaRef<'_, X>,
    y: &CudaMut<'_, Y>,
) -> Result<(), BackendError> {
    let cut = cut("sum_axis", p.len, columns(p.outer, p.inner))?;
    if cut.parts == 1 {
        return sum::columns(queue, p, cut, pitch, x, y, None);
    }
    let mut parts = queue.alloc(cut.parts as usize * y.len())?;
    sum::columns(queue, p, cut, pitch, x, y, Some(&parts.view_mut()))?;
    sum::join(queue, p, cut.parts, parts.view(), y)
}

/// How many blocks would take a whole axis, and the least part of it that is worth one.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) struct AxisBlocks {
    blocks: u64,
    least: u64,
}

/// The blocks of contiguous rows.
pub(in crate::ops) fn rows(outer: u64) -> AxisBlocks {
    AxisBlocks { blocks: outer, least: 64 * LEAST_PART }
}

/// The blocks of columns.
pub(in crate::ops) fn columns(outer: u64, inner: u64) -> AxisBlocks {
    AxisBlocks { blocks: outer * inner.div_ceil(sum::COLUMNS_PER_BLOCK), least: LEAST_PART }
}

/// Cuts an axis into parts.
pub(in crate::ops) fn cut(op: &'static str, len: u64, of: AxisBlocks) -> Result<SumCut, BackendError> {
    let parts = (BUSY_BLOCKS / of.blocks).min(len / of.least).max(1);
    let part_len = len.div_ceil(parts).next_multiple_of(4).max(4);
    let part_len = super::index_bound(op, part_len)?;
    Ok(SumCut { parts: len.div_ceil(part_len.into()).max(1) as u32, part_len })
}

/// Whether the strides are row-major without gaps.
pub(in crate::ops) fn is_flat(shape: &[u64], strides: &[u64; MAX_RANK]) -> bool {
    let mut next = 1;
    shape.iter().zip(strides).rev().all(|(&len, &stride)| {
        let fits = len == 1 || stride == next;
        next *= len;
        fits
    })
}
