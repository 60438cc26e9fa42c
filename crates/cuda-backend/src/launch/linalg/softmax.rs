//! Softmax and log-softmax.

use backend_api::{BackendError, Real};
use bytemuck::NoUninit;
use core_types::params::rows::{AxisParams, SoftmaxParams};

use super::{KernelFamily, RowGroup, aligned, family};
use crate::{CudaMut, CudaQueue, CudaRef, launch::Launch};

const HELD: KernelFamily = family!("linalg_softmax_held");
const WARP: KernelFamily = family!("linalg_softmax_warp");
const BLOCK: KernelFamily = family!("linalg_softmax_block");
const COLUMNS: KernelFamily = family!("linalg_softmax_columns");
const BACKWARD_HELD: KernelFamily = family!("linalg_softmax_backward_held");
const BACKWARD_WARP: KernelFamily = family!("linalg_softmax_backward_warp");
const BACKWARD_BLOCK: KernelFamily = family!("linalg_softmax_backward_block");
const BACKWARD_COLUMNS: KernelFamily = family!("linalg_softmax_backward_columns");

/// Columns of a block.
const COLUMNS_PER_BLOCK: u64 = 32;

/// Softmax or its logarithm, as the kernels number them.
#[derive(Clone, Copy, Debug, NoUninit)]
#[repr(u32)]
pub(crate) enum SoftmaxKind {
    /// Softmax.
    Softmax,
    /// Log-softmax.
    Log,
}

/// The views of a mask, at most one of them present.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MaskViews<'a> {
    pub(crate) causal: bool,
    pub(crate) keep: Option<CudaRef<'a, bool>>,
    pub(crate) addend: Option<CudaRef<'a, f32>>,
}

impl<'a> MaskViews<'a> {
    /// The arguments of a forward kernel.
    fn arguments<T: Real>(
        &self,
        launch: Launch<'a>,
        p: &SoftmaxParams,
        kind: SoftmaxKind,
        x: CudaRef<'a, T>,
        y: &CudaMut<'a, T>,
    ) -> Launch<'a> {
        let launch = launch.value("p", p).value("kind", &kind).value("causal", &u32::from(self.causal)).input("x", x);
        launch.input_if("keep", self.keep).input_if("addend", self.addend).output("y", y)
    }
}

/// Along the last axis (`inner = 1`).
pub(crate) fn forward<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &SoftmaxParams,
    kind: SoftmaxKind,
    x: CudaRef<'a, T>,
    mask: &MaskViews<'a>,
    y: &CudaMut<'a, T>,
) -> Result<(), BackendError> {
    let plain = mask.keep.is_none() && mask.addend.is_none();
    let group = RowGroup::new(p.axis.len, plain && aligned(x) && aligned(y.as_ref()));
    let family = match group {
        RowGroup::Held => HELD,
        RowGroup::Warp => WARP,
        RowGroup::Block => BLOCK,
    };
    let launch = queue.kernel(family.of::<T>())?.grid(group.grid(p.axis.outer));
    let launch = mask.arguments(launch, p, kind, x, y);
    // SAFETY: the op has checked that x, y and the mask have the sizes of `p`, whose `inner` is 1 and whose length and
    // period are not zero.
    unsafe { launch.launch() }
}

/// Along another axis.
pub(crate) fn columns<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &SoftmaxParams,
    kind: SoftmaxKind,
    x: CudaRef<'a, T>,
    mask: &MaskViews<'a>,
    y: &CudaMut<'a, T>,
) -> Result<(), BackendError> {
    let blocks = (p.axis.outer * p.axis.inner).div_ceil(COLUMNS_PER_BLOCK);
    let launch = queue.kernel(COLUMNS.of::<T>())?.grid([blocks, 1, 1]);
    let launch = mask.arguments(launch, p, kind, x, y);
    // SAFETY: the op has checked that x, y and the mask have the sizes of `p`, whose axes and
    // periods are all nonzero.
    unsafe { launch.launch() }
}

/// The gradient along the last axis (`inner = 1`).
pub(crate) fn backward<T: Real>(
    queue: &CudaQueue,
    p: &AxisParams,
    kind: SoftmaxKind,
    y: CudaRef<'_, T>,
    g: CudaRef<'_, T>,
    dx: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let group = RowGroup::new(p.len, aligned(y) && aligned(g) && aligned(dx.as_ref()));
    let family = match group {
        RowGroup::Held => BACKWARD_HELD,
        RowGroup::Warp => BACKWARD_WARP,
        RowGroup::Block => BACKWARD_BLOCK,
    };
    let launch = queue.kernel(family.of::<T>())?.grid(group.grid(p.outer));
    let launch = launch.value("p", p).value("kind", &kind).input("y", y).input("g", g).output("dx", dx);
    // SAFETY: the op has checked that y, g and dx have the size of `p`, whose `inner` is 1 and whose length is not
    // zero.
    unsafe { launch.launch() }
}

/// The gradient along another axis.
pub(crate) fn backward_columns<T: Real>(
    queue: &CudaQueue,
    p: &AxisParams,
    kind: SoftmaxKind,
    y: CudaRef<'_, T>,
    g: CudaRef<'_, T>,
    dx: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let blocks = (p.outer * p.inner).div_ceil(COLUMNS_PER_BLOCK);
    let launch = queue.kernel(BACKWARD_COLUMNS.of::<T>())?.grid([blocks, 1, 1]);
    let launch = launch.value("p", p).value("kind", &kind).input("y", y).input("g", g).output("dx", dx);
    // SAFETY: the op has checked that y, g and dx have the size of `p`, whose axes are all nonzero.
    unsafe { launch.launch() }
}
