//! The optim op set.

use backend_api::{
    BackendError, BufferMut as _, BufferRef as _, Real,
    ops::optim::{AdamStep, AdvanceStep, ScaleLoss, SgdStep, SquareSums},
};

use super::family::{KernelFamily, family, over_elements};
use crate::{CudaQueue, CudaRef, checked::OptimOps, submit::Launch};

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

impl OptimOps for CudaQueue {
    fn adam_step<T: Real>(&self, op: AdamStep<'_, Self, T>) -> Result<(), BackendError> {
        let family = if op.wide.is_some() { ADAM_WIDE } else { ADAM };
        let launch = over_elements(self.kernel(family.of::<T>())?, op.w.len()).value("p", op.params);
        let launch = launch.input("state", op.state).value("len", &(op.w.len() as u64));
        let launch = gradients(launch, op.g, op.wide).output("m", &op.m).output("v", &op.v);
        let launch = launch.output("w", &op.w).output_if("copy", op.copy.as_ref());
        // SAFETY: `AdamStep::check` verified that all views have one length, the kernel's, and that the state is one
        // record.
        unsafe { launch.launch() }
    }

    fn advance_step(&self, op: AdvanceStep<'_, Self>) -> Result<(), BackendError> {
        let count = u32::try_from(op.sums.map_or(0, |sums| sums.len()))
            .map_err(|_| BackendError::Unsupported { op: "advance_step", why: "expected fewer than 2^32 sums" })?;
        let launch = self.kernel("optim_advance")?.value("p", op.params).value("count", &count);
        let launch = launch.input_if("sums", op.sums).output("state", &op.state);
        // SAFETY: `AdvanceStep::check` verified that the state is one record; `count` is the number of sums.
        unsafe { launch.launch() }
    }

    fn scale_loss<T: Real>(&self, op: ScaleLoss<'_, Self, T>) -> Result<(), BackendError> {
        let launch = over_elements(self.kernel(SCALE.of::<T>())?, op.y.len()).input("state", op.state);
        let launch = launch.value("len", &(op.y.len() as u64)).input("x", op.x).output("y", &op.y);
        // SAFETY: `ScaleLoss::check` verified that x and y have one length, the kernel's, and that the state is one
        // record.
        unsafe { launch.launch() }
    }

    fn sgd_step<T: Real>(&self, op: SgdStep<'_, Self, T>) -> Result<(), BackendError> {
        let family = if op.wide.is_some() { SGD_WIDE } else { SGD };
        let launch = over_elements(self.kernel(family.of::<T>())?, op.w.len()).value("p", op.params);
        let launch = launch.input("state", op.state).value("len", &(op.w.len() as u64));
        let launch = gradients(launch, op.g, op.wide).output_if("v", op.v.as_ref());
        let launch = launch.output("w", &op.w).output_if("copy", op.copy.as_ref());
        // SAFETY: `SgdStep::check` verified that all views have one length, the kernel's, and that the state is one
        // record.
        unsafe { launch.launch() }
    }

    fn square_sums<T: Real>(&self, op: SquareSums<'_, Self, T>) -> Result<(), BackendError> {
        let launch = self.kernel(SQUARES.of::<T>())?.blocks(op.sums.len() as u64);
        let launch = launch.value("len", &(op.g.len() as u64)).input("g", op.g).output("sums", &op.sums);
        // SAFETY: `SquareSums::check` verified that there is a sum for each part of the gradients; each part has a
        // block.
        unsafe { launch.launch() }
    }
}

/// The gradients of whichever type there is.
fn gradients<'a, T: Real>(launch: Launch<'a>, g: Option<CudaRef<'a, T>>, wide: Option<CudaRef<'a, f32>>) -> Launch<'a> {
    match wide {
        Some(wide) => launch.input("g", wide),
        None => launch.input_if("g", g),
    }
}
