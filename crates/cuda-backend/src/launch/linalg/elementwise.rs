//! Maps over elements.

use backend_api::{BackendError, BufferMut, BufferRef, Real};
use core_types::params::{
    elementwise::{Activation, Binary, BinaryParams, DropoutParams},
    optim::StepState,
};

use super::{KernelFamily, family, over_elements};
use crate::{CudaMut, CudaQueue, CudaRef};

const ACTIVATE: KernelFamily = family!("linalg_activate");
const ACTIVATE_BACKWARD: KernelFamily = family!("linalg_activate_backward");
const BINARY: KernelFamily = family!("linalg_binary");
const BINARY_STRIDED: KernelFamily = family!("linalg_binary_strided");
const AXPBY: KernelFamily = family!("linalg_axpby");
const DROPOUT: KernelFamily = family!("linalg_dropout");

pub(crate) fn activate<T: Real>(
    queue: &CudaQueue,
    f: Activation,
    x: CudaRef<'_, T>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(ACTIVATE.of::<T>())?, x.len());
    let launch = launch.value("f", &f).value("len", &(x.len() as u64)).input("x", x).output("y", y);
    // SAFETY: the op has checked that x and y are equally long; the length is theirs.
    unsafe { launch.launch() }
}

pub(crate) fn activate_backward<T: Real>(
    queue: &CudaQueue,
    f: Activation,
    saved: CudaRef<'_, T>,
    g: CudaRef<'_, T>,
    dx: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(ACTIVATE_BACKWARD.of::<T>())?, g.len());
    let launch =
        launch.value("f", &f).value("len", &(g.len() as u64)).input("saved", saved).input("g", g).output("dx", dx);
    // SAFETY: the op has checked that saved, g and dx are equally long; the length is theirs.
    unsafe { launch.launch() }
}

pub(crate) fn binary<T: Real>(
    queue: &CudaQueue,
    op: Binary,
    a: CudaRef<'_, T>,
    b: CudaRef<'_, T>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(BINARY.of::<T>())?, y.len());
    let launch = launch.value("op", &op).value("len", &(y.len() as u64)).input("a", a).input("b", b).output("y", y);
    // SAFETY: the op has checked that a and b are at least as long as y; the length is y's.
    unsafe { launch.launch() }
}

pub(crate) fn binary_strided<T: Real>(
    queue: &CudaQueue,
    p: &BinaryParams,
    len: u32,
    a: CudaRef<'_, T>,
    b: CudaRef<'_, T>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = queue.kernel(BINARY_STRIDED.of::<T>())?.cover(len as usize);
    let launch = launch.value("p", p).value("len", &len).input("a", a).input("b", b).output("y", y);
    // SAFETY: the op has checked that the shape of `p` has `len` elements, none of its axes empty,
    // that y has `len` elements too, and that the strides stay inside a and b.
    unsafe { launch.launch() }
}

pub(crate) fn axpby<T: Real>(
    queue: &CudaQueue,
    alpha: f32,
    beta: f32,
    x: CudaRef<'_, T>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(AXPBY.of::<T>())?, x.len());
    let launch =
        launch.value("alpha", &alpha).value("beta", &beta).value("len", &(x.len() as u64)).input("x", x).output("y", y);
    // SAFETY: the op has checked that x and y are equally long; the length is theirs.
    unsafe { launch.launch() }
}

pub(crate) fn dropout<T: Real>(
    queue: &CudaQueue,
    p: &DropoutParams,
    state: Option<CudaRef<'_, StepState>>,
    x: CudaRef<'_, T>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = over_elements(queue.kernel(DROPOUT.of::<T>())?, x.len());
    let launch = launch.value("p", &words(p)).value("len", &(x.len() as u64));
    let launch = launch.input_if("state", state).input("x", x).output("y", y);
    // SAFETY: the op has checked that x and y are equally long, and that there is one record if there is any; the length is theirs.
    unsafe { launch.launch() }
}

/// The record in words of eight bytes, its padding zero. Hosts of GPUs are little-endian.
fn words(p: &DropoutParams) -> [u64; 5] {
    let place = u64::from(p.site) | u64::from(p.step) << 32;
    [p.seed, place, p.first, p.threshold, p.scale.to_bits().into()]
}

const _: () = assert!(size_of::<DropoutParams>() == size_of::<[u64; 5]>());
