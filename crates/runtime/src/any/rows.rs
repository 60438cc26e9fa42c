use backend_api::{
    BackendError, Real,
    ops::linalg::{RowMask, RowOps},
};
use core_types::params::rows::{AxisParams, NormParams, SoftmaxParams};
use cpu_backend::CpuQueue;
#[cfg(feature = "cuda")]
use cuda_backend::{CudaMut, CudaQueue, CudaRef};

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

/// A view that may be missing, unwrapped: a function for each kind and backend.
macro_rules! unwrap_optional {
    ($name:ident, $any:ident::$kind:ident, $view:ty) => {
        fn $name<'a, T>(op: &'static str, view: Option<$any<'a, T>>) -> Result<Option<$view>, BackendError> {
            match view {
                None => Ok(None),
                Some($any::$kind(view)) => Ok(Some(view)),
                Some(_) => Err(BackendError::MixedBackend { op }),
            }
        }
    };
}

unwrap_optional!(cpu_ref, AnyRef::Cpu, &'a [T]);
unwrap_optional!(cpu_mut, AnyMut::Cpu, &'a mut [T]);
#[cfg(feature = "cuda")]
unwrap_optional!(cuda_ref, AnyRef::Cuda, CudaRef<'a, T>);
#[cfg(feature = "cuda")]
unwrap_optional!(cuda_mut, AnyMut::Cuda, CudaMut<'a, T>);

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
        gamma: Option<AnyRef<'_, T>>,
        beta: Option<AnyRef<'_, T>>,
        y: AnyMut<'_, T>,
        stats: AnyMut<'_, f32>,
    ) -> Result<(), BackendError> {
        const OP: &str = "layer_norm";
        match (self, x, y, stats) {
            (Self::Cpu(q), AnyRef::Cpu(x), AnyMut::Cpu(y), AnyMut::Cpu(stats)) => {
                q.layer_norm(p, x, cpu_ref(OP, gamma)?, cpu_ref(OP, beta)?, y, stats)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(q), AnyRef::Cuda(x), AnyMut::Cuda(y), AnyMut::Cuda(stats)) => {
                q.layer_norm(p, x, cuda_ref(OP, gamma)?, cuda_ref(OP, beta)?, y, stats)
            }
            _ => Err(BackendError::MixedBackend { op: OP }),
        }
    }

    fn layer_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: AnyRef<'_, T>,
        gamma: Option<AnyRef<'_, T>>,
        stats: AnyRef<'_, f32>,
        g: AnyRef<'_, T>,
        dx: AnyMut<'_, T>,
        dgamma: Option<AnyMut<'_, T>>,
        dbeta: Option<AnyMut<'_, T>>,
    ) -> Result<(), BackendError> {
        const OP: &str = "layer_norm_backward";
        match (self, x, stats, g, dx) {
            (Self::Cpu(q), AnyRef::Cpu(x), AnyRef::Cpu(stats), AnyRef::Cpu(g), AnyMut::Cpu(dx)) => {
                let (gamma, dgamma, dbeta) = (cpu_ref(OP, gamma)?, cpu_mut(OP, dgamma)?, cpu_mut(OP, dbeta)?);
                q.layer_norm_backward(p, x, gamma, stats, g, dx, dgamma, dbeta)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(q), AnyRef::Cuda(x), AnyRef::Cuda(stats), AnyRef::Cuda(g), AnyMut::Cuda(dx)) => {
                let (gamma, dgamma, dbeta) = (cuda_ref(OP, gamma)?, cuda_mut(OP, dgamma)?, cuda_mut(OP, dbeta)?);
                q.layer_norm_backward(p, x, gamma, stats, g, dx, dgamma, dbeta)
            }
            _ => Err(BackendError::MixedBackend { op: OP }),
        }
    }

    fn rms_norm<T: Real>(
        &self,
        p: &NormParams,
        x: AnyRef<'_, T>,
        gamma: Option<AnyRef<'_, T>>,
        y: AnyMut<'_, T>,
        rstd: AnyMut<'_, f32>,
    ) -> Result<(), BackendError> {
        const OP: &str = "rms_norm";
        match (self, x, y, rstd) {
            (Self::Cpu(q), AnyRef::Cpu(x), AnyMut::Cpu(y), AnyMut::Cpu(rstd)) => {
                q.rms_norm(p, x, cpu_ref(OP, gamma)?, y, rstd)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(q), AnyRef::Cuda(x), AnyMut::Cuda(y), AnyMut::Cuda(rstd)) => {
                q.rms_norm(p, x, cuda_ref(OP, gamma)?, y, rstd)
            }
            _ => Err(BackendError::MixedBackend { op: OP }),
        }
    }

    fn rms_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: AnyRef<'_, T>,
        gamma: Option<AnyRef<'_, T>>,
        rstd: AnyRef<'_, f32>,
        g: AnyRef<'_, T>,
        dx: AnyMut<'_, T>,
        dgamma: Option<AnyMut<'_, T>>,
    ) -> Result<(), BackendError> {
        const OP: &str = "rms_norm_backward";
        match (self, x, rstd, g, dx) {
            (Self::Cpu(q), AnyRef::Cpu(x), AnyRef::Cpu(rstd), AnyRef::Cpu(g), AnyMut::Cpu(dx)) => {
                q.rms_norm_backward(p, x, cpu_ref(OP, gamma)?, rstd, g, dx, cpu_mut(OP, dgamma)?)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(q), AnyRef::Cuda(x), AnyRef::Cuda(rstd), AnyRef::Cuda(g), AnyMut::Cuda(dx)) => {
                q.rms_norm_backward(p, x, cuda_ref(OP, gamma)?, rstd, g, dx, cuda_mut(OP, dgamma)?)
            }
            _ => Err(BackendError::MixedBackend { op: OP }),
        }
    }
}
