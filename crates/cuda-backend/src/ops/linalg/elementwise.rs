//! Elementwise ops. Layouts choose the kernel.

use backend_api::{
    BackendError, BufferMut, BufferRef, Real,
    ops::linalg::{Activate, ActivateBackward, Axpby, Binary, BinaryScalar, Dropout, SumAxis},
};
use core_types::params::elementwise::{BinaryParams, BinaryScalarParams, DropoutParams, MAX_RANK};

use super::sum;
use crate::{
    CudaQueue,
    checked::ElementwiseOps,
    ops::family::{KernelFamily, family, over_elements},
};

const ACTIVATE: KernelFamily = family!("linalg_activate");
const ACTIVATE_BACKWARD: KernelFamily = family!("linalg_activate_backward");
const BINARY: KernelFamily = family!("linalg_binary");
const BINARY_STRIDED: KernelFamily = family!("linalg_binary_strided");
const BINARY_SCALAR: KernelFamily = family!("linalg_binary_scalar");
const BINARY_SCALAR_STRIDED: KernelFamily = family!("linalg_binary_scalar_strided");
const AXPBY: KernelFamily = family!("linalg_axpby");
const DROPOUT: KernelFamily = family!("linalg_dropout");

impl ElementwiseOps for CudaQueue {
    fn activate<T: Real>(&self, op: Activate<'_, Self, T>) -> Result<(), BackendError> {
        let Activate { f, x, y, .. } = op;
        let x = x.unwrap_or_else(|| y.as_ref());
        let launch = over_elements(self.kernel(ACTIVATE.of::<T>())?, x.len());
        let launch = launch.value("f", &f).value("len", &(x.len() as u64)).input("x", x).output("y", &y);
        // SAFETY: `Activate::check` verified that x and y are equally long; the length is theirs. `y` may be `x`.
        unsafe { launch.launch() }
    }

    fn activate_backward<T: Real>(&self, op: ActivateBackward<'_, Self, T>) -> Result<(), BackendError> {
        let launch = over_elements(self.kernel(ACTIVATE_BACKWARD.of::<T>())?, op.g.len());
        let launch = launch.value("f", &op.f).value("len", &(op.g.len() as u64));
        let launch = launch.input("saved", op.saved).input("g", op.g).output("dx", &op.dx);
        // SAFETY: `ActivateBackward::check` verified that saved, g and dx are equally long; the length is theirs.
        unsafe { launch.launch() }
    }

    fn binary<T: Real>(&self, op: Binary<'_, Self, T>) -> Result<(), BackendError> {
        let Binary { params: p, a, b, y } = op;
        let a = a.unwrap_or_else(|| y.as_ref());
        if y.is_empty() {
            return Ok(());
        }
        let rank = (p.rank as usize).min(MAX_RANK);
        let shape = &p.shape[..rank];
        let launch = if is_flat(shape, &p.a_strides) && is_flat(shape, &p.b_strides) {
            over_elements(self.kernel(BINARY.of::<T>())?, y.len()).value("op", &p.op).value("len", &(y.len() as u64))
        } else {
            let len = strided_len("binary", y.len() as u64)?;
            let launch = self.kernel(BINARY_STRIDED.of::<T>())?.cover(len as usize);
            launch.value("p", &BinaryParams { rank: rank as u32, ..*p }).value("len", &len)
        };
        let launch = launch.input("a", a).input("b", b).output("y", &y);
        // SAFETY: `Binary::check` verified that y has the elements of the shape of `p`, whose number is the length, and
        // that the strides stay inside a and b: without gaps, both are at least as long as y. If a is y, its strides are
        // row-major, and each thread reads an element before it writes it. No axis is empty, since y is not.
        unsafe { launch.launch() }
    }

    fn binary_scalar<T: Real>(&self, op: BinaryScalar<'_, Self, T>) -> Result<(), BackendError> {
        let BinaryScalar { params: p, x, y } = op;
        if y.is_empty() {
            return Ok(());
        }
        let value = T::from_f32(p.value).to_f32();
        let rank = (p.rank as usize).min(MAX_RANK);
        let launch = if is_flat(&p.shape[..rank], &p.x_strides) {
            let launch = over_elements(self.kernel(BINARY_SCALAR.of::<T>())?, y.len());
            launch.value("op", &p.op).value("value", &value).value("len", &(y.len() as u64))
        } else {
            let len = strided_len("binary_scalar", y.len() as u64)?;
            let launch = self.kernel(BINARY_SCALAR_STRIDED.of::<T>())?.cover(len as usize);
            launch.value("p", &BinaryScalarParams { rank: rank as u32, value, ..*p }).value("len", &len)
        };
        let launch = launch.input("x", x).output("y", &y);
        // SAFETY: `BinaryScalar::check` verified that y has the elements of the shape of `p`, whose number is the
        // length, and that the strides stay inside x: without gaps, it is at least as long as y. No axis is empty,
        // since y is not.
        unsafe { launch.launch() }
    }

    fn axpby<T: Real>(&self, op: Axpby<'_, Self, T>) -> Result<(), BackendError> {
        let launch = over_elements(self.kernel(AXPBY.of::<T>())?, op.x.len());
        let launch = launch.value("alpha", &op.alpha).value("beta", &op.beta).value("len", &(op.x.len() as u64));
        let launch = launch.input("x", op.x).output("y", &op.y);
        // SAFETY: `Axpby::check` verified that x and y are equally long; the length is theirs.
        unsafe { launch.launch() }
    }

    fn sum_axis<T: Real>(&self, op: SumAxis<'_, Self, T>) -> Result<(), BackendError> {
        sum::axis(self, op.params, op.x, &op.y)
    }

    fn dropout<T: Real>(&self, op: Dropout<'_, Self, T>) -> Result<(), BackendError> {
        let Dropout { params, state, x, y, .. } = op;
        let x = x.unwrap_or_else(|| y.as_ref());
        let launch = over_elements(self.kernel(DROPOUT.of::<T>())?, x.len());
        let launch = launch.value("p", &words(params)).value("len", &(x.len() as u64));
        let launch = launch.input_if("state", state).input("x", x).output("y", &y);
        // SAFETY: `Dropout::check` verified that x and y are equally long, and that there is one record if there is any; the
        // length is theirs. `y` may be `x`.
        unsafe { launch.launch() }
    }
}

/// A number of elements as kernels with strides count them.
pub(in crate::ops) fn strided_len(op: &'static str, len: u64) -> Result<u32, BackendError> {
    u32::try_from(len)
        .map_err(|_| BackendError::Unsupported { op, why: "expected fewer than 2^32 elements with strides" })
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

/// The record in words of eight bytes, its padding zero. Hosts of GPUs are little-endian.
pub(super) fn words(p: &DropoutParams) -> [u64; 5] {
    let place = u64::from(p.site) | u64::from(p.step) << 32;
    [p.seed, place, p.first, p.threshold, p.scale.to_bits().into()]
}

const _: () = assert!(size_of::<DropoutParams>() == size_of::<[u64; 5]>());
