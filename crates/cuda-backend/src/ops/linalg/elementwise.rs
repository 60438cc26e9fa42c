use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Real,
    ops::linalg::{ElementwiseOps, check_binary, check_len, product},
};
use core_types::params::elementwise::{Activation, BinaryParams, DropoutParams, MAX_RANK, SumParams};

use crate::{
    CudaMut, CudaQueue, CudaRef,
    launch::linalg::{self, SumCut},
};

/// Parts of a summed axis have at least so many elements of a row, or rows of a column.
const LEAST_PART: u64 = 256;
/// Blocks that keep any card busy.
const BUSY_BLOCKS: u64 = 512;

impl ElementwiseOps for CudaQueue {
    fn activate<T: Real>(&self, f: Activation, x: CudaRef<'_, T>, y: CudaMut<'_, T>) -> Result<(), BackendError> {
        check_len(y.len() as u64, x.len())?;
        linalg::activate(self, f, x, &y)
    }

    fn activate_in_place<T: Real>(&self, f: Activation, x: CudaMut<'_, T>) -> Result<(), BackendError> {
        linalg::activate_in_place(self, f, &x)
    }

    fn activate_backward<T: Real>(
        &self,
        f: Activation,
        saved: CudaRef<'_, T>,
        g: CudaRef<'_, T>,
        dx: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        check_len(dx.len() as u64, saved.len())?;
        check_len(dx.len() as u64, g.len())?;
        linalg::activate_backward(self, f, saved, g, &dx)
    }

    fn binary<T: Real>(
        &self,
        p: &BinaryParams,
        a: CudaRef<'_, T>,
        b: CudaRef<'_, T>,
        y: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        check_binary(p, a.len(), b.len(), y.len())?;
        if y.is_empty() {
            return Ok(());
        }
        let rank = (p.rank as usize).min(MAX_RANK);
        let shape = &p.shape[..rank];
        if is_flat(shape, &p.a_strides) && is_flat(shape, &p.b_strides) {
            return linalg::binary(self, p.op, a, b, &y);
        }
        let len = u32::try_from(y.len())
            .map_err(|_| BackendError::Unsupported { op: "binary", why: "2^32 elements or more with strides" })?;
        linalg::binary_strided(self, &BinaryParams { rank: rank as u32, ..*p }, len, a, b, &y)
    }

    fn axpby<T: Real>(&self, alpha: f32, x: CudaRef<'_, T>, beta: f32, y: CudaMut<'_, T>) -> Result<(), BackendError> {
        check_len(y.len() as u64, x.len())?;
        linalg::axpby(self, alpha, beta, x, &y)
    }

    fn sum_axis<T: Real>(&self, p: &SumParams, x: CudaRef<'_, T>, y: CudaMut<'_, T>) -> Result<(), BackendError> {
        check_len(product(&[p.outer, p.len, p.inner]), x.len())?;
        check_len(product(&[p.outer, p.inner]), y.len())?;
        if y.is_empty() {
            return Ok(());
        }
        if p.inner > 1 {
            return sum_columns(self, p, p.inner, x, &y);
        }
        let cut = cut(p.len, p.outer, 64 * LEAST_PART)?;
        if cut.parts == 1 {
            return linalg::sum_rows(self, p, cut, x, &y, None);
        }
        let mut parts = self.scratch(cut.parts as usize * y.len())?;
        linalg::sum_rows(self, p, cut, x, &y, Some(&parts.view_mut()))?;
        linalg::sum_join(self, p, cut.parts, parts.view(), &y)
    }

    fn dropout<T: Real>(&self, p: &DropoutParams, x: CudaRef<'_, T>, y: CudaMut<'_, T>) -> Result<(), BackendError> {
        check_len(y.len() as u64, x.len())?;
        linalg::dropout(self, p, x, &y)
    }
}

/// Sums columns of rows that lie `pitch` elements apart; y has an element for each outer index and column.
pub(super) fn sum_columns<X: Real, Y: Real>(
    queue: &CudaQueue,
    p: &SumParams,
    pitch: u64,
    x: CudaRef<'_, X>,
    y: &CudaMut<'_, Y>,
) -> Result<(), BackendError> {
    let cut = cut(p.len, p.outer * p.inner.div_ceil(linalg::COLUMNS_PER_BLOCK), LEAST_PART)?;
    if cut.parts == 1 {
        return linalg::sum_columns(queue, p, cut, pitch, x, y, None);
    }
    let mut parts = queue.scratch(cut.parts as usize * y.len())?;
    linalg::sum_columns(queue, p, cut, pitch, x, y, Some(&parts.view_mut()))?;
    linalg::sum_join(queue, p, cut.parts, parts.view(), y)
}

/// Cuts an axis of which `blocks` blocks would sum the whole, into parts of at least `least`.
fn cut(len: u64, blocks: u64, least: u64) -> Result<SumCut, BackendError> {
    let parts = (BUSY_BLOCKS / blocks).min(len / least).max(1);
    let part_len = len.div_ceil(parts).next_multiple_of(4).max(4);
    let part_len = super::index_bound("sum_axis", part_len)?;
    Ok(SumCut { parts: len.div_ceil(part_len.into()).max(1) as u32, part_len })
}

/// Whether the strides walk row-major without gaps.
fn is_flat(shape: &[u64], strides: &[u64; MAX_RANK]) -> bool {
    let mut next = 1;
    shape.iter().zip(strides).rev().all(|(&len, &stride)| {
        let fits = len == 1 || stride == next;
        next *= len;
        fits
    })
}
