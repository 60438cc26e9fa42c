//! The tensor op set.
//!
//! Forms in place are the kernels of the others, with one view for both sides.
//!
//! Which kernel takes an op depends only on shapes and alignment, and so does the order of every
//! sum: results do not depend on the card.

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Element, Queue, Real,
    ops::{
        linalg::{ElementwiseOps, SumAxis},
        tensor::{
            ArgMax, CopyStrided, CopyStridedBool, CopyStridedU32, CopyStridedU64, Fill, Gather, GatherU64, Map, Narrow,
            Reduce, ScatterAdd, Select, Widen,
        },
    },
};
use bytemuck::NoUninit;
use core_types::params::{
    elementwise::{MAX_RANK, SumParams},
    rows::AxisParams,
    tensor::{Beyond, CopyParams, ReduceParams, Reduction, TableParams},
};

use super::{
    family::{KernelFamily, RowGroup, family, over_elements},
    linalg::{
        elementwise::{is_flat, strided_len},
        sum::{self, AxisBlocks, COLUMNS_PER_BLOCK, SumCut},
    },
};
use crate::{CudaBuf, CudaMut, CudaQueue, CudaRef, checked::TensorOps};

const MAP: KernelFamily = family!("tensor_map");
const SELECT: KernelFamily = family!("tensor_select");
const FILL: KernelFamily = family!("tensor_fill");
const COPY: KernelFamily = family!("tensor_copy");
const WIDEN: KernelFamily = family!("tensor_widen");
const NARROW: KernelFamily = family!("tensor_narrow");
const GATHER: KernelFamily = family!("tensor_gather");
const SCATTER_ADD: KernelFamily = family!("tensor_scatter_add");
const EXTREME_WARP: KernelFamily = family!("tensor_extreme_warp");
const EXTREME_BLOCK: KernelFamily = family!("tensor_extreme_block");
const EXTREME_COLUMNS: KernelFamily = family!("tensor_extreme_columns");
const EXTREME_ELEMENTS: KernelFamily = family!("tensor_extreme_elements");
const MEAN: KernelFamily = family!("tensor_mean");

impl TensorOps for CudaQueue {
    fn arg_max<T: Real>(&self, op: ArgMax<'_, Self, T>) -> Result<(), BackendError> {
        let ArgMax { params: &AxisParams { outer, len, inner }, x, y } = op;
        if y.is_empty() {
            return Ok(());
        }
        let (parts, keys) = extremes(self, "arg_max", Asked::Place, [outer, len, inner], x)?;
        let launch = self.kernel("tensor_extreme_places")?.cover(y.len());
        let launch = launch.value("outputs", &(y.len() as u64)).value("parts", &parts);
        let launch = launch.input("keys", keys.view()).output("y", &y);
        // SAFETY: `keys` hold `parts` words for each element of y.
        unsafe { launch.launch() }
    }

    fn copy_strided<T: Real>(&self, op: CopyStrided<'_, Self, T>) -> Result<(), BackendError> {
        copy_strided(self, "copy_strided", COPY.of::<T>(), op.params, op.x, op.y)
    }

    fn copy_strided_bool(&self, op: CopyStridedBool<'_, Self>) -> Result<(), BackendError> {
        copy_strided(self, "copy_strided_bool", "tensor_copy_bool", op.params, op.x, op.y)
    }

    fn copy_strided_u32(&self, op: CopyStridedU32<'_, Self>) -> Result<(), BackendError> {
        copy_strided(self, "copy_strided_u32", "tensor_copy_u32", op.params, op.x, op.y)
    }

    fn copy_strided_u64(&self, op: CopyStridedU64<'_, Self>) -> Result<(), BackendError> {
        copy_strided(self, "copy_strided_u64", "tensor_copy_u64", op.params, op.x, op.y)
    }

    fn fill<T: Real>(&self, op: Fill<'_, Self, T>) -> Result<(), BackendError> {
        let launch = over_elements(self.kernel(FILL.of::<T>())?, op.y.len());
        let launch = launch.value("value", &op.value).value("len", &(op.y.len() as u64)).output("y", &op.y);
        // SAFETY: the length is y's.
        unsafe { launch.launch() }
    }

    fn gather<T: Real>(&self, op: Gather<'_, Self, T>) -> Result<(), BackendError> {
        let Gather { params: p, table, indices, y } = op;
        gather(self, GATHER.of::<T>(), p, (table, indices), &y)
    }

    fn gather_u64(&self, op: GatherU64<'_, Self>) -> Result<(), BackendError> {
        let GatherU64 { params: p, table, indices, y } = op;
        gather(self, "tensor_gather_u64", p, (table, indices), &y)
    }

    fn map<T: Real>(&self, op: Map<'_, Self, T>) -> Result<(), BackendError> {
        let Map { params, x, y, .. } = op;
        let x = x.unwrap_or_else(|| y.as_ref());
        let launch = over_elements(self.kernel(MAP.of::<T>())?, y.len());
        let launch = launch.value("p", params).value("len", &(y.len() as u64)).input("x", x).output("y", &y);
        // SAFETY: `Map::check` verified that x and y have one length, the kernel's. `y` may be `x`.
        unsafe { launch.launch() }
    }

    fn narrow<T: Real>(&self, op: Narrow<'_, Self, T>) -> Result<(), BackendError> {
        // Values of a magnitude above `beyond` become `greatest`.
        let [beyond, greatest] = op.range();
        let greatest = if op.beyond == Beyond::Saturated { greatest } else { f32::INFINITY };
        let launch = over_elements(self.kernel(NARROW.of::<T>())?, op.y.len());
        let launch = launch.value("len", &(op.y.len() as u64)).value("beyond", &beyond).value("greatest", &greatest);
        let launch = launch.input("x", op.x).output("y", &op.y).output_if("found", op.found.as_ref());
        // SAFETY: `Narrow::check` verified that x and y have one length, the kernel's, and that `found` has two words.
        unsafe { launch.launch() }
    }

    fn reduce<T: Real>(&self, op: Reduce<'_, Self, T>) -> Result<(), BackendError> {
        let Reduce { params: &ReduceParams { reduction, outer, len, inner, .. }, x, y } = op;
        if y.is_empty() {
            return Ok(());
        }
        let sums = SumParams { outer, len, inner, accumulate: 0 };
        let outputs = y.len() as u64;
        let asked = match reduction {
            Reduction::Sum => return self.sum_axis(SumAxis { params: &sums, x, y }),
            Reduction::Mean => {
                let cut = SumCut::new("reduce", len, AxisBlocks::of(outer, inner))?;
                let mut parts = self.alloc::<f64>(cut.parts as usize * y.len())?;
                if inner > 1 {
                    sum::columns(self, &sums, cut, inner, x, &y, Some(&parts.view_mut()))?;
                } else {
                    sum::rows(self, &sums, cut, x, &y, Some(&parts.view_mut()))?;
                }
                let launch = self.kernel(MEAN.of::<T>())?.cover(y.len());
                let launch = launch.value("len", &len).value("outputs", &outputs).value("parts", &cut.parts);
                let launch = launch.input("sums", parts.view()).output("y", &y);
                // SAFETY: `parts` hold `cut.parts` sums for each element of y.
                return unsafe { launch.launch() };
            }
            Reduction::Max => Asked::Greatest,
            Reduction::Min => Asked::Least,
        };
        let (parts, keys) = extremes(self, "reduce", asked, [outer, len, inner], x)?;
        let launch = self.kernel(EXTREME_ELEMENTS.of::<T>())?.cover(y.len());
        let launch = launch.value("asked", &asked).value("outputs", &outputs).value("parts", &parts);
        let launch = launch.input("keys", keys.view()).output("y", &y);
        // SAFETY: `keys` hold `parts` words for each element of y.
        unsafe { launch.launch() }
    }

    fn scatter_add<T: Real>(&self, op: ScatterAdd<'_, Self, T>) -> Result<(), BackendError> {
        let ScatterAdd { params: p, indices, order, g, table } = op;
        if table.is_empty() || indices.is_empty() {
            return Ok(());
        }
        let launch = over_elements(self.kernel(SCATTER_ADD.of::<T>())?, p.count as usize * p.width as usize);
        let launch = launch.value("p", p).input("indices", indices).input("order", order);
        let launch = launch.input("g", g).output("table", &table);
        // SAFETY: `ScatterAdd::check` verified all lengths; the table is not empty, so no row is.
        unsafe { launch.launch() }
    }

    fn select<T: Real>(&self, op: Select<'_, Self, T>) -> Result<(), BackendError> {
        let Select { mask, a, b, y } = op;
        let a = a.unwrap_or_else(|| y.as_ref());
        let launch = over_elements(self.kernel(SELECT.of::<T>())?, y.len());
        let launch = launch.value("len", &(y.len() as u64)).input("mask", mask);
        let launch = launch.input("a", a).input("b", b).output("y", &y);
        // SAFETY: `Select::check` verified that all views have one length, the kernel's. `y` may be `a`.
        unsafe { launch.launch() }
    }

    fn widen<T: Real>(&self, op: Widen<'_, Self, T>) -> Result<(), BackendError> {
        let launch = over_elements(self.kernel(WIDEN.of::<T>())?, op.y.len());
        let launch = launch.value("len", &(op.y.len() as u64)).input("x", op.x).output("y", &op.y);
        // SAFETY: `Widen::check` verified that both views have one length, the kernel's.
        unsafe { launch.launch() }
    }
}

/// Copies between layouts as `op`, by the kernel of the element type.
fn copy_strided<T: Element>(
    queue: &CudaQueue,
    op: &'static str,
    kernel: &'static str,
    p: &CopyParams,
    x: CudaRef<'_, T>,
    y: CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let p = ordered(p);
    let shape = &p.shape[..p.rank as usize];
    let count: u64 = shape.iter().product();
    if count == 0 {
        return Ok(());
    }
    if is_flat(shape, &p.x_strides) && is_flat(shape, &p.y_strides) {
        return queue.copy(x.slice(0..count as usize)?, y.slice(0..count as usize)?);
    }
    let len = strided_len(op, count)?;
    let launch = queue.kernel(kernel)?.cover(len as usize);
    let launch = launch.value("p", &p).value("len", &len).input("x", x).output("y", &y);
    // SAFETY: the op has checked that the strides stay inside x and y, and that y's strides nest; the shape of `p` has
    // `len` elements, none of its axes empty.
    unsafe { launch.launch() }
}

/// Copies rows of a table by index, by the kernel of the element type.
fn gather<T: Element>(
    queue: &CudaQueue,
    kernel: &'static str,
    p: &TableParams,
    (table, indices): (CudaRef<'_, T>, CudaRef<'_, u32>),
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    if y.is_empty() {
        return Ok(());
    }
    let launch = over_elements(queue.kernel(kernel)?, y.len());
    let launch = launch.value("p", p).input("table", table).input("indices", indices).output("y", y);
    // SAFETY: the op has checked all lengths; y is not empty, so no row is.
    unsafe { launch.launch() }
}

/// The reduction of an axis, as the kernels number it.
#[derive(Clone, Copy, Debug, NoUninit)]
#[repr(u32)]
enum Asked {
    Greatest,
    Least,
    Place,
}

/// The words of an axis that is not empty, for each part that it is cut into.
///
/// Returns the number of parts with them.
fn extremes<T: Real>(
    queue: &CudaQueue,
    op: &'static str,
    asked: Asked,
    [outer, len, inner]: [u64; 3],
    x: CudaRef<'_, T>,
) -> Result<(u32, CudaBuf<u64>), BackendError> {
    let cut = SumCut::new(op, len, AxisBlocks::of(outer, inner))?;
    let mut keys = queue.alloc::<u64>(cut.parts as usize * (outer * inner) as usize)?;
    let (family, blocks) = if inner > 1 {
        (EXTREME_COLUMNS, inner.div_ceil(COLUMNS_PER_BLOCK) * outer)
    } else {
        let group = RowGroup::new(cut.part_len.into(), false);
        (if group == RowGroup::Block { EXTREME_BLOCK } else { EXTREME_WARP }, group.grid(outer)[0])
    };
    let launch = queue.kernel(family.of::<T>())?.grid([blocks, cut.parts.into(), 1]);
    let launch = launch.value("asked", &asked).value("outer", &outer).value("len", &len);
    let launch = if inner > 1 { launch.value("inner", &inner) } else { launch };
    let launch = launch.value("part_len", &cut.part_len).input("x", x).output("keys", &keys.view_mut());
    // SAFETY: the op has checked that x has the elements of the shape, none of whose axes is empty; `keys` are as long
    // as the outputs of all parts.
    unsafe { launch.launch() }?;
    Ok((cut.parts, keys))
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
