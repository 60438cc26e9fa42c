//! Launches of the tensor kernels.
//!
//! Each wrapper stands for the kernels of all element types, which differ only in the type.

use backend_api::{
    BackendError, BufferMut, Real,
    ops::tensor::{Gather, Narrow, ScatterAdd, Select, Widen},
};
use core_types::params::tensor::{CopyParams, MapParams};

use crate::{
    CudaMut, CudaQueue, CudaRef,
    launch::linalg::{
        KernelFamily, RowGroup, family, over_elements,
        sum::{COLUMNS_PER_BLOCK, SumCut},
    },
};

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

/// y may be x.
pub(crate) fn map<T: Real>(
    queue: &CudaQueue,
    p: &MapParams,
    x: CudaRef<'_, T>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(MAP.of::<T>())?, y.len());
    let launch = launch.value("p", p).value("len", &(y.len() as u64)).input("x", x).output("y", y);
    // SAFETY: the op has checked that x and y have one length, the kernel's.
    unsafe { launch.launch() }
}

pub(crate) fn select<T: Real>(queue: &CudaQueue, op: &Select<'_, CudaQueue, T>) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(SELECT.of::<T>())?, op.y.len());
    let launch = launch.value("len", &(op.y.len() as u64)).input("mask", op.mask);
    let launch = launch.input("a", op.a).input("b", op.b).output("y", &op.y);
    // SAFETY: `Select::check` verified that all views have one length, the kernel's.
    unsafe { launch.launch() }
}

pub(crate) fn fill<T: Real>(queue: &CudaQueue, value: f32, y: &CudaMut<'_, T>) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(FILL.of::<T>())?, y.len());
    let launch = launch.value("value", &value).value("len", &(y.len() as u64)).output("y", y);
    // SAFETY: the length is y's.
    unsafe { launch.launch() }
}

/// Copies `len` elements, the number of elements of the shape.
pub(crate) fn copy<T: Real>(
    queue: &CudaQueue,
    p: &CopyParams,
    len: u32,
    x: CudaRef<'_, T>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = queue.kernel(COPY.of::<T>())?.cover(len as usize);
    let launch = launch.value("p", p).value("len", &len).input("x", x).output("y", y);
    // SAFETY: the op has checked that the shape of `p` has `len` elements, none of its axes empty,
    // that the strides stay inside x and y, and that y's strides nest.
    unsafe { launch.launch() }
}

pub(crate) fn widen<T: Real>(queue: &CudaQueue, op: &Widen<'_, CudaQueue, T>) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(WIDEN.of::<T>())?, op.y.len());
    let launch = launch.value("len", &(op.y.len() as u64)).input("x", op.x).output("y", &op.y);
    // SAFETY: `Widen::check` verified that all views have one length, the kernel's.
    unsafe { launch.launch() }
}

/// Converts to a narrower type; values of a magnitude above `greatest` become `greatest`.
pub(crate) fn narrow<T: Real>(
    queue: &CudaQueue,
    op: &Narrow<'_, CudaQueue, T>,
    greatest: f32,
) -> Result<(), BackendError> {
    let [beyond, _] = op.range();
    let launch = over_elements(queue.kernel(NARROW.of::<T>())?, op.y.len());
    let launch = launch.value("len", &(op.y.len() as u64)).value("beyond", &beyond).value("greatest", &greatest);
    let launch = launch.input("x", op.x).output("y", &op.y).output_if("found", op.found.as_ref());
    // SAFETY: `Narrow::check` verified that x and y have one length, the kernel's, and that `found` has two words.
    unsafe { launch.launch() }
}

pub(crate) fn gather<T: Real>(queue: &CudaQueue, op: &Gather<'_, CudaQueue, T>) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(GATHER.of::<T>())?, op.y.len());
    let launch = launch.value("p", op.params).input("table", op.table).input("indices", op.indices).output("y", &op.y);
    // SAFETY: `Gather::check` verified all lengths; y is not empty, so no row is.
    unsafe { launch.launch() }
}

pub(crate) fn scatter_add<T: Real>(queue: &CudaQueue, op: &ScatterAdd<'_, CudaQueue, T>) -> Result<(), BackendError> {
    let launch =
        over_elements(queue.kernel(SCATTER_ADD.of::<T>())?, op.params.count as usize * op.params.width as usize);
    let launch = launch.value("p", op.params).input("indices", op.indices).input("order", op.order);
    let launch = launch.input("g", op.g).output("table", &op.table);
    // SAFETY: `ScatterAdd::check` verified all lengths; the table is not empty, so no row is.
    unsafe { launch.launch() }
}

/// The reduction of an axis, as the kernels number it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Greatest,
    Least,
    Place,
}

impl Asked {
    const fn number(self) -> u32 {
        match self {
            Self::Greatest => 0,
            Self::Least => 1,
            Self::Place => 2,
        }
    }
}

/// Finds the word of each part of an axis of `outer x len x inner` elements.
pub(crate) fn extremes<T: Real>(
    queue: &CudaQueue,
    asked: Asked,
    [outer, len, inner]: [u64; 3],
    cut: SumCut,
    x: CudaRef<'_, T>,
    keys: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    let launch = if inner == 1 {
        let group = RowGroup::new(cut.part_len.into(), false);
        let family = if group == RowGroup::Block { EXTREME_BLOCK } else { EXTREME_WARP };
        let [blocks, ..] = group.grid(outer);
        let launch = queue.kernel(family.of::<T>())?.grid([blocks, cut.parts.into(), 1]);
        launch.value("asked", &asked.number()).value("outer", &outer).value("len", &len)
    } else {
        let blocks = inner.div_ceil(COLUMNS_PER_BLOCK) * outer;
        let launch = queue.kernel(EXTREME_COLUMNS.of::<T>())?.grid([blocks, cut.parts.into(), 1]);
        launch.value("asked", &asked.number()).value("outer", &outer).value("len", &len).value("inner", &inner)
    };
    let launch = launch.value("part_len", &cut.part_len).input("x", x).output("keys", keys);
    // SAFETY: the op has checked that x has the elements of the shape, none of whose axes is empty, and made `keys` as long as
    // the outputs of all parts.
    unsafe { launch.launch() }
}

/// The elements that the words of `parts` parts stand for.
pub(crate) fn elements<T: Real>(
    queue: &CudaQueue,
    asked: Asked,
    parts: u32,
    keys: CudaRef<'_, u64>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = queue.kernel(EXTREME_ELEMENTS.of::<T>())?.cover(y.len());
    let launch = launch.value("asked", &asked.number()).value("outputs", &(y.len() as u64)).value("parts", &parts);
    let launch = launch.input("keys", keys).output("y", y);
    // SAFETY: the op has made `keys` hold `parts` words for each element of y.
    unsafe { launch.launch() }
}

/// The places that the words of `parts` parts stand for.
pub(crate) fn places(
    queue: &CudaQueue,
    parts: u32,
    keys: CudaRef<'_, u64>,
    y: &CudaMut<'_, u32>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("tensor_extreme_places")?.cover(y.len());
    let launch = launch.value("outputs", &(y.len() as u64)).value("parts", &parts);
    let launch = launch.input("keys", keys).output("y", y);
    // SAFETY: the op has made `keys` hold `parts` words for each element of y.
    unsafe { launch.launch() }
}

/// The means of `len` elements from the sums of `parts` parts.
pub(crate) fn means<T: Real>(
    queue: &CudaQueue,
    len: u64,
    parts: u32,
    sums: CudaRef<'_, f64>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = queue.kernel(MEAN.of::<T>())?.cover(y.len());
    let launch = launch.value("len", &len).value("outputs", &(y.len() as u64)).value("parts", &parts);
    let launch = launch.input("sums", sums).output("y", y);
    // SAFETY: the op has made `sums` hold `parts` sums for each element of y.
    unsafe { launch.launch() }
}
