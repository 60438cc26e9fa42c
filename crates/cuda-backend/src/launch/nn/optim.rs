//! Launches of the optim kernels.

use backend_api::{
    BackendError, BufferMut as _, BufferRef as _, Real,
    ops::optim::{AdamStep, AdvanceStep, ScaleLoss, SgdStep, SquareSums},
};

use crate::{
    CudaQueue, CudaRef,
    launch::{
        builder::Launch,
        linalg::{KernelFamily, family, over_elements},
    },
};

/// The kernel family for gradients in f32; the f32 kernel is the ordinary one.
macro_rules! wide {
    ($prefix:literal) => {
        KernelFamily {
            f32: concat!($prefix, "_f32"),
            f16: concat!($prefix, "_wide_f16"),
            bf16: concat!($prefix, "_wide_bf16"),
        }
    };
}

const SQUARES: KernelFamily = family!("optim_squares");
const SCALE: KernelFamily = family!("optim_scale");
const SGD: KernelFamily = family!("optim_sgd");
const ADAM: KernelFamily = family!("optim_adam");
/// With gradients in f32 and a copy of another type.
const SGD_WIDE: KernelFamily = wide!("optim_sgd");
const ADAM_WIDE: KernelFamily = wide!("optim_adam");

pub(crate) fn squares<T: Real>(queue: &CudaQueue, op: &SquareSums<'_, CudaQueue, T>) -> Result<(), BackendError> {
    let launch = queue.kernel(SQUARES.of::<T>())?.grid([op.sums.len() as u64, 1, 1]);
    let launch = launch.value("len", &(op.g.len() as u64)).input("g", op.g).output("sums", &op.sums);
    // SAFETY: `SquareSums::check` verified that there is a sum for each part of the gradients; each
    // part has a block.
    unsafe { launch.launch() }
}

/// `op` has `count` sums.
pub(crate) fn advance(queue: &CudaQueue, op: &AdvanceStep<'_, CudaQueue>, count: u32) -> Result<(), BackendError> {
    let launch = queue.kernel("optim_advance")?.value("p", op.params).value("count", &count);
    let launch = launch.input_if("sums", op.sums).output("state", &op.state);
    // SAFETY: `AdvanceStep::check` verified that the state is one record; `count` is the number of sums.
    unsafe { launch.launch() }
}

pub(crate) fn scale<T: Real>(queue: &CudaQueue, op: &ScaleLoss<'_, CudaQueue, T>) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(SCALE.of::<T>())?, op.y.len()).input("state", op.state);
    let launch = launch.value("len", &(op.y.len() as u64)).input("x", op.x).output("y", &op.y);
    // SAFETY: `ScaleLoss::check` verified that x and y have one length, the kernel's, and that the
    // state is one record.
    unsafe { launch.launch() }
}

pub(crate) fn sgd<T: Real>(queue: &CudaQueue, op: &SgdStep<'_, CudaQueue, T>) -> Result<(), BackendError> {
    let family = if op.wide.is_some() { SGD_WIDE } else { SGD };
    let launch = over_elements(queue.kernel(family.of::<T>())?, op.w.len()).value("p", op.params);
    let launch = launch.input("state", op.state).value("len", &(op.w.len() as u64));
    let launch = gradients(launch, op.g, op.wide).output_if("v", op.v.as_ref());
    let launch = launch.output("w", &op.w).output_if("copy", op.copy.as_ref());
    // SAFETY: `SgdStep::check` verified that all views have one length, the kernel's, and that the
    // state is one record.
    unsafe { launch.launch() }
}

pub(crate) fn adam<T: Real>(queue: &CudaQueue, op: &AdamStep<'_, CudaQueue, T>) -> Result<(), BackendError> {
    let family = if op.wide.is_some() { ADAM_WIDE } else { ADAM };
    let launch = over_elements(queue.kernel(family.of::<T>())?, op.w.len()).value("p", op.params);
    let launch = launch.input("state", op.state).value("len", &(op.w.len() as u64));
    let launch = gradients(launch, op.g, op.wide).output("m", &op.m).output("v", &op.v);
    let launch = launch.output("w", &op.w).output_if("copy", op.copy.as_ref());
    // SAFETY: `AdamStep::check` verified that all views have one length, the kernel's, and that the
    // state is one record.
    unsafe { launch.launch() }
}

/// The gradients of whichever type there is.
fn gradients<'a, T: Real>(launch: Launch<'a>, g: Option<CudaRef<'a, T>>, wide: Option<CudaRef<'a, f32>>) -> Launch<'a> {
    match wide {
        Some(wide) => launch.input("g", wide),
        None => launch.input_if("g", g),
    }
}
