//! Every op set: an op runs on the queue that its views belong to, within a span that shows its shape.

use backend_api::{BackendError, Element, Real, ops::MapViews};
use cpu_backend::CpuQueue;
#[cfg(feature = "cuda")]
use cuda_backend::{CudaMut, CudaQueue, CudaRef};

use super::{
    AnyMut, AnyQueue, AnyRef,
    span::{Params, Views, traced},
};

/// Views of the host.
struct OnCpu;

impl MapViews<AnyQueue, CpuQueue> for OnCpu {
    #[inline(always)]
    fn read<'a, T: Element + 'a>(&mut self, op: &'static str, view: AnyRef<'a, T>) -> Result<&'a [T], BackendError> {
        match view {
            AnyRef::Cpu(view) => Ok(view),
            _ => Err(BackendError::MixedBackend { op }),
        }
    }

    #[inline(always)]
    fn write<'a, T: Element + 'a>(
        &mut self,
        op: &'static str,
        view: AnyMut<'a, T>,
    ) -> Result<&'a mut [T], BackendError> {
        match view {
            AnyMut::Cpu(view) => Ok(view),
            _ => Err(BackendError::MixedBackend { op }),
        }
    }
}

/// Views of a GPU.
#[cfg(feature = "cuda")]
struct OnCuda;

#[cfg(feature = "cuda")]
impl MapViews<AnyQueue, CudaQueue> for OnCuda {
    #[inline(always)]
    fn read<'a, T: Element + 'a>(
        &mut self,
        op: &'static str,
        view: AnyRef<'a, T>,
    ) -> Result<CudaRef<'a, T>, BackendError> {
        match view {
            AnyRef::Cuda(view) => Ok(view),
            AnyRef::Cpu(_) => Err(BackendError::MixedBackend { op }),
        }
    }

    #[inline(always)]
    fn write<'a, T: Element + 'a>(
        &mut self,
        op: &'static str,
        view: AnyMut<'a, T>,
    ) -> Result<CudaMut<'a, T>, BackendError> {
        match view {
            AnyMut::Cuda(view) => Ok(view),
            AnyMut::Cpu(_) => Err(BackendError::MixedBackend { op }),
        }
    }
}

macro_rules! forward {
    ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident { $($method:ident $(<$t:ident>)? ($record:ident),)* }) => {
        impl backend_api::ops::$module::$set for AnyQueue {
            $(
                fn $method $(<$t: Real>)? (
                    &self,
                    op: backend_api::ops::$module::$record<'_, Self $(, $t)?>,
                ) -> Result<(), BackendError> {
                    traced!(
                        self,
                        stringify!($method),
                        [
                            $(element = %<$t as Real>::DTYPE,)?
                            params = %Params(&op),
                            views = %Views(&op)
                        ],
                        match self {
                            Self::Cpu(q) => q.$method(op.map(&mut OnCpu)?),
                            #[cfg(feature = "cuda")]
                            Self::Cuda(q) => q.$method(op.map(&mut OnCuda)?),
                        }
                    )
                }
            )*
        }
    };
}

backend_api::op_sets!(forward);
