use backend_api::{
    BackendError, Real,
    ops::linalg::{ElementwiseOps, GemmOps, LossOps},
};
use core_types::params::{
    elementwise::{Activation, BinaryParams, DropoutParams, SumParams},
    gemm::GemmParams,
};

use super::{AnyMut, AnyQueue, AnyRef, dispatch};

impl ElementwiseOps for AnyQueue {
    fn activate<T: Real>(&self, f: Activation, x: AnyRef<'_, T>, y: AnyMut<'_, T>) -> Result<(), BackendError> {
        dispatch!(self.activate(f; x: AnyRef, y: AnyMut))
    }

    fn activate_in_place<T: Real>(&self, f: Activation, x: AnyMut<'_, T>) -> Result<(), BackendError> {
        dispatch!(self.activate_in_place(f; x: AnyMut))
    }

    fn activate_backward<T: Real>(
        &self,
        f: Activation,
        saved: AnyRef<'_, T>,
        g: AnyRef<'_, T>,
        dx: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        dispatch!(self.activate_backward(f; saved: AnyRef, g: AnyRef, dx: AnyMut))
    }

    fn binary<T: Real>(
        &self,
        p: &BinaryParams,
        a: AnyRef<'_, T>,
        b: AnyRef<'_, T>,
        y: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        dispatch!(self.binary(p; a: AnyRef, b: AnyRef, y: AnyMut))
    }

    fn axpby<T: Real>(&self, alpha: f32, x: AnyRef<'_, T>, beta: f32, y: AnyMut<'_, T>) -> Result<(), BackendError> {
        match (self, x, y) {
            (Self::Cpu(q), AnyRef::Cpu(x), AnyMut::Cpu(y)) => q.axpby(alpha, x, beta, y),
            #[cfg(feature = "cuda")]
            (Self::Cuda(q), AnyRef::Cuda(x), AnyMut::Cuda(y)) => q.axpby(alpha, x, beta, y),
            _ => Err(BackendError::MixedBackend { op: "axpby" }),
        }
    }

    fn sum_axis<T: Real>(&self, p: &SumParams, x: AnyRef<'_, T>, y: AnyMut<'_, T>) -> Result<(), BackendError> {
        dispatch!(self.sum_axis(p; x: AnyRef, y: AnyMut))
    }

    fn dropout<T: Real>(&self, p: &DropoutParams, x: AnyRef<'_, T>, y: AnyMut<'_, T>) -> Result<(), BackendError> {
        dispatch!(self.dropout(p; x: AnyRef, y: AnyMut))
    }
}

impl GemmOps for AnyQueue {
    fn gemm<T: Real>(
        &self,
        p: &GemmParams,
        a: AnyRef<'_, T>,
        b: AnyRef<'_, T>,
        bias: Option<AnyRef<'_, T>>,
        c: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        let mixed = || BackendError::MixedBackend { op: "gemm" };
        match (self, a, b, c) {
            (Self::Cpu(q), AnyRef::Cpu(a), AnyRef::Cpu(b), AnyMut::Cpu(c)) => {
                let bias = bias.map(|bias| match bias {
                    AnyRef::Cpu(bias) => Ok(bias),
                    #[cfg(feature = "cuda")]
                    AnyRef::Cuda(_) => Err(mixed()),
                });
                q.gemm(p, a, b, bias.transpose()?, c)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(q), AnyRef::Cuda(a), AnyRef::Cuda(b), AnyMut::Cuda(c)) => {
                let bias = bias.map(|bias| if let AnyRef::Cuda(bias) = bias { Ok(bias) } else { Err(mixed()) });
                q.gemm(p, a, b, bias.transpose()?, c)
            }
            _ => Err(mixed()),
        }
    }
}

impl LossOps for AnyQueue {
    fn cross_entropy<T: Real>(
        &self,
        classes: usize,
        scale: f32,
        logits: AnyRef<'_, T>,
        targets: AnyRef<'_, u32>,
        losses: AnyMut<'_, f32>,
        dlogits: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        dispatch!(self.cross_entropy(classes, scale; logits: AnyRef, targets: AnyRef, losses: AnyMut, dlogits: AnyMut))
    }

    fn cross_entropy_probs<T: Real>(
        &self,
        classes: usize,
        scale: f32,
        logits: AnyRef<'_, T>,
        probs: AnyRef<'_, T>,
        losses: AnyMut<'_, f32>,
        dlogits: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        dispatch!(self.cross_entropy_probs(classes, scale; logits: AnyRef, probs: AnyRef, losses: AnyMut, dlogits: AnyMut))
    }
}
