//! The tensor op set.
//!
//! Forms in place are the kernels of the others, with one view for both sides.
//!
//! Which kernel takes an op depends only on shapes and alignment, and so does the order of every
//! sum: results do not depend on the card.

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Queue, Real,
    ops::{
        linalg::{ElementwiseOps, SumAxis},
        tensor::{
            ActivateInPlace, ArgMax, BinaryInPlace, CopyStrided, Fill, Gather, Map, MapInPlace, Narrow, Reduce,
            ScatterAdd, Select, Widen,
        },
    },
};

use crate::checked::TensorOps;
use core_types::params::{
    elementwise::{BinaryParams, MAX_RANK, SumParams},
    rows::AxisParams,
    tensor::{Beyond, CopyParams, ReduceParams, Reduction},
};

use super::linalg::elementwise::{columns, cut, is_flat, rows};
use crate::{
    CudaBuf, CudaQueue, CudaRef,
    launch::{
        linalg::{
            elementwise,
            sum::{self, SumCut},
        },
        nn::tensor::{self, Asked},
    },
};

impl TensorOps for CudaQueue {
    fn activate_in_place<T: Real>(&self, op: ActivateInPlace<'_, Self, T>) -> Result<(), BackendError> {
        elementwise::activate(self, op.f, op.x.as_ref(), &op.x)
    }

    fn arg_max<T: Real>(&self, op: ArgMax<'_, Self, T>) -> Result<(), BackendError> {
        let ArgMax { params: &AxisParams { outer, len, inner }, x, y } = op;
        if y.is_empty() {
            return Ok(());
        }
        let (cut, keys) = extremes(self, "arg_max", Asked::Place, [outer, len, inner], x)?;
        tensor::places(self, cut.parts, keys.view(), &y)
    }

    fn binary_in_place<T: Real>(&self, op: BinaryInPlace<'_, Self, T>) -> Result<(), BackendError> {
        let BinaryInPlace { params: p, a, b } = op;
        if a.is_empty() {
            return Ok(());
        }
        let rank = (p.rank as usize).min(MAX_RANK);
        if is_flat(&p.shape[..rank], &p.b_strides) {
            return elementwise::binary(self, p.op, a.as_ref(), b, &a);
        }
        let len = strided_len("binary_in_place", a.len() as u64)?;
        elementwise::binary_strided(self, &BinaryParams { rank: rank as u32, ..*p }, len, a.as_ref(), b, &a)
    }

    fn copy_strided<T: Real>(&self, op: CopyStrided<'_, Self, T>) -> Result<(), BackendError> {
        let CopyStrided { params: p, x, y } = op;
        let p = ordered(p);
        let shape = &p.shape[..p.rank as usize];
        let count: u64 = shape.iter().product();
        if count == 0 {
            return Ok(());
        }
        if is_flat(shape, &p.x_strides) && is_flat(shape, &p.y_strides) {
            return self.copy(x.slice(0..count as usize)?, y.slice(0..count as usize)?);
        }
        tensor::copy(self, &p, strided_len("copy_strided", count)?, x, &y)
    }

    fn fill<T: Real>(&self, op: Fill<'_, Self, T>) -> Result<(), BackendError> {
        tensor::fill(self, op.value, &op.y)
    }

    fn gather<T: Real>(&self, op: Gather<'_, Self, T>) -> Result<(), BackendError> {
        if op.y.is_empty() { Ok(()) } else { tensor::gather(self, &op) }
    }

    fn map<T: Real>(&self, op: Map<'_, Self, T>) -> Result<(), BackendError> {
        tensor::map(self, op.params, op.x, &op.y)
    }

    fn map_in_place<T: Real>(&self, op: MapInPlace<'_, Self, T>) -> Result<(), BackendError> {
        tensor::map(self, op.params, op.x.as_ref(), &op.x)
    }

    fn narrow<T: Real>(&self, op: Narrow<'_, Self, T>) -> Result<(), BackendError> {
        let [_, greatest] = op.range();
        let greatest = if op.beyond == Beyond::Saturated { greatest } else { f32::INFINITY };
        tensor::narrow(self, &op, greatest)
    }

    fn reduce<T: Real>(&self, op: Reduce<'_, Self, T>) -> Result<(), BackendError> {
        let Reduce { params: &ReduceParams { reduction, outer, len, inner, .. }, x, y } = op;
        if y.is_empty() {
            return Ok(());
        }
        let sums = SumParams { outer, len, inner, accumulate: 0 };
        let asked = match reduction {
            Reduction::Sum => return self.sum_axis(SumAxis { params: &sums, x, y }),
            Reduction::Mean => {
                let across = inner > 1;
                let cut = cut("reduce", len, if across { columns(outer, inner) } else { rows(outer) })?;
                let mut parts = self.alloc(cut.parts as usize * y.len())?;
                if across {
                    sum::columns(self, &sums, cut, inner, x, &y, Some(&parts.view_mut()))?;
                } else {
                    sum::rows(self, &sums, cut, x, &y, Some(&parts.view_mut()))?;
                }
                return tensor::means(self, len, cut.parts, parts.view(), &y);
            }
            Reduction::Max => Asked::Greatest,
            Reduction::Min => Asked::Least,
        };
        let (cut, keys) = extremes(self, "reduce", asked, [outer, len, inner], x)?;
        tensor::elements(self, asked, cut.parts, keys.view(), &y)
    }

    fn scatter_add<T: Real>(&self, op: ScatterAdd<'_, Self, T>) -> Result<(), BackendError> {
        if op.table.is_empty() || op.indices.is_empty() { Ok(()) } else { tensor::scatter_add(self, &op) }
    }

    fn select<T: Real>(&self, op: Select<'_, Self, T>) -> Result<(), BackendError> {
        tensor::select(self, &op)
    }

    fn widen<T: Real>(&self, op: Widen<'_, Self, T>) -> Result<(), BackendError> {
        tensor::widen(self, &op)
    }
}

/// A number of elements as kernels with strides count them.
fn strided_len(op: &'static str, len: u64) -> Result<u32, BackendError> {
    u32::try_from(len)
        .map_err(|_| BackendError::Unsupported { op, why: "expected fewer than 2^32 elements with strides" })
}

/// The words of an axis that is not empty, for each part that it is cut into.
fn extremes<T: Real>(
    queue: &CudaQueue,
    op: &'static str,
    asked: Asked,
    shape: [u64; 3],
    x: CudaRef<'_, T>,
) -> Result<(SumCut, CudaBuf<u64>), BackendError> {
    let [outer, len, inner] = shape;
    let cut = cut(op, len, if inner > 1 { columns(outer, inner) } else { rows(outer) })?;
    let mut keys = queue.alloc(cut.parts as usize * (outer * inner) as usize)?;
    tensor::extremes(queue, asked, shape, cut, x, &keys.view_mut())?;
    Ok((cut, keys))
}

/// Reorders the axes of a copy into the order in which y has its elements.
///
/// Neighbouring threads then write to neighbouring elements.
fn ordered(p: &CopyParams) -> CopyParams {
    let rank = (p.rank as usize).min(MAX_RANK);
    let mut axes: Vec<_> = (0..rank).filter(|&i| p.shape[i] != 1).collect();
    axes.sort_by_key(|&i| core::cmp::Reverse(p.y_strides[i]));
    let mut q = CopyParams { rank: axes.len() as u32, shape: [1; MAX_RANK], ..*p };
    for (to, from) in axes.into_iter().enumerate() {
        (q.shape[to], q.x_strides[to], q.y_strides[to]) = (p.shape[from], p.x_strides[from], p.y_strides[from]);
    }
    q
}
