use backend_api::{
    BackendError, Real,
    ops::linalg::{RowMask, RowOps},
};
use core_types::params::rows::{AxisParams, NormParams, SoftmaxParams};
use cpu_backend::CpuQueue;
#[cfg(feature = "cuda")]
use cuda_backend::CudaQueue;

use super::{AnyMut, AnyQueue, AnyRef, dispatch};

/// The mask with its view unwrapped: a function for each backend.
macro_rules! unwrap_mask {
    ($name:ident, $queue:ty, $kind:ident) => {
        fn $name<'a>(op: &'static str, mask: RowMask<'a, AnyQueue>) -> Result<RowMask<'a, $queue>, BackendError> {
            match mask {
                RowMask::None => Ok(RowMask::None),
                RowMask::Keep(AnyRef::$kind(keep)) => Ok(RowMask::Keep(keep)),
                RowMask::Additive(AnyRef::$kind(added)) => Ok(RowMask::Additive(added)),
                RowMask::Causal => Ok(RowMask::Causal),
                RowMask::Keep(_) | RowMask::Additive(_) => Err(BackendError::MixedBackend { op }),
            }
        }
    };
}

unwrap_mask!(cpu_mask, CpuQueue, Cpu);
#[cfg(feature = "cuda")]
unwrap_mask!(cuda_mask, CudaQueue, Cuda);

impl RowOps for AnyQueue {
    fn softmax<T: Real>(
        &self,
        p: &SoftmaxParams,
        x: AnyRef<'_, T>,
        mask: RowMask<'_, Self>,
        y: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        match (self, x, y) {
            (Self::Cpu(q), AnyRef::Cpu(x), AnyMut::Cpu(y)) => q.softmax(p, x, cpu_mask("softmax", mask)?, y),
            #[cfg(feature = "cuda")]
            (Self::Cuda(q), AnyRef::Cuda(x), AnyMut::Cuda(y)) => q.softmax(p, x, cuda_mask("softmax", mask)?, y),
            _ => Err(BackendError::MixedBackend { op: "softmax" }),
        }
    }

    fn log_softmax<T: Real>(
        &self,
        p: &SoftmaxParams,
        x: AnyRef<'_, T>,
        mask: RowMask<'_, Self>,
        y: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        match (self, x, y) {
            (Self::Cpu(q), AnyRef::Cpu(x), AnyMut::Cpu(y)) => q.log_softmax(p, x, cpu_mask("log_softmax", mask)?, y),
            #[cfg(feature = "cuda")]
            (Self::Cuda(q), AnyRef::Cuda(x), AnyMut::Cuda(y)) => {
                q.log_softmax(p, x, cuda_mask("log_softmax", mask)?, y)
            }
            _ => Err(BackendError::MixedBackend { op: "log_softmax" }),
        }
    }

    fn softmax_backward<T: Real>(
        &self,
        p: &AxisParams,
        y: AnyRef<'_, T>,
        g: AnyRef<'_, T>,
        dx: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        dispatch!(self.softmax_backward(p; y: AnyRef, g: AnyRef, dx: AnyMut))
    }

    fn log_softmax_backward<T: Real>(
        &self,
        p: &AxisParams,
        y: AnyRef<'_, T>,
        g: AnyRef<'_, T>,
        dx: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        dispatch!(self.log_softmax_backward(p; y: AnyRef, g: AnyRef, dx: AnyMut))
    }

    fn layer_norm<T: Real>(
        &self,
        p: &NormParams,
        x: AnyRef<'_, T>,
        gamma: AnyRef<'_, T>,
        beta: AnyRef<'_, T>,
        y: AnyMut<'_, T>,
        stats: AnyMut<'_, f32>,
    ) -> Result<(), BackendError> {
        dispatch!(self.layer_norm(p; x: AnyRef, gamma: AnyRef, beta: AnyRef, y: AnyMut, stats: AnyMut))
    }

    fn layer_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: AnyRef<'_, T>,
        gamma: AnyRef<'_, T>,
        stats: AnyRef<'_, f32>,
        g: AnyRef<'_, T>,
        dx: AnyMut<'_, T>,
        dgamma: AnyMut<'_, T>,
        dbeta: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        dispatch!(self.layer_norm_backward(
            p; x: AnyRef, gamma: AnyRef, stats: AnyRef, g: AnyRef, dx: AnyMut, dgamma: AnyMut, dbeta: AnyMut
        ))
    }

    fn rms_norm<T: Real>(
        &self,
        p: &NormParams,
        x: AnyRef<'_, T>,
        gamma: AnyRef<'_, T>,
        y: AnyMut<'_, T>,
        rstd: AnyMut<'_, f32>,
    ) -> Result<(), BackendError> {
        dispatch!(self.rms_norm(p; x: AnyRef, gamma: AnyRef, y: AnyMut, rstd: AnyMut))
    }

    fn rms_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: AnyRef<'_, T>,
        gamma: AnyRef<'_, T>,
        rstd: AnyRef<'_, f32>,
        g: AnyRef<'_, T>,
        dx: AnyMut<'_, T>,
        dgamma: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        dispatch!(self.rms_norm_backward(
            p; x: AnyRef, gamma: AnyRef, rstd: AnyRef, g: AnyRef, dx: AnyMut, dgamma: AnyMut
        ))
    }
}
