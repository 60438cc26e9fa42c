//! All op sets.
//!
//! An op runs on the queue of its views, within a span that shows its shape.

use backend_api::{BackendError, Element, Real, ops::MapViews};
use cpu_backend::CpuQueue;
#[cfg(feature = "cuda")]
use cuda_backend::{CudaMut, CudaQueue, CudaRef};

use super::{
    AnyMut, AnyQueue, AnyRef,
    span::{Params, Views, traced, view_bytes},
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

/// Runs an op on the queue inside, within a span.
macro_rules! forwarded {
    ($queue:expr, $module:ident::$set:ident::$method:ident, $op:expr $(, $t:ident)?) => {
        traced!(
            $queue,
            stringify!($method),
            [
                $(element = %<$t as Real>::DTYPE,)?
                params = %Params(&$op),
                views = %Views(&$op),
                bytes = view_bytes(&$op, 0 $(+ size_of::<$t>())?),
                flop = backend_api::ops::Op::flop(&$op)
            ],
            match $queue {
                AnyQueue::Cpu(q) => backend_api::ops::$module::$set::$method(q, $op.map(&mut OnCpu)?),
                #[cfg(feature = "cuda")]
                AnyQueue::Cuda(q) => backend_api::ops::$module::$set::$method(q, $op.map(&mut OnCuda)?),
            }
        )
    };
}

/// Implements an op set by forwarding each op to the queue inside.
macro_rules! forward {
    ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident { $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)* }) => {
        impl backend_api::ops::$module::$set for AnyQueue {
            $(forward!(@method $module $set $method $record $($t)?);)*
        }
    };
    (@method $module:ident $set:ident $method:ident $record:ident) => {
        fn $method(&self, op: backend_api::ops::$module::$record<'_, Self>) -> Result<(), BackendError> {
            forwarded!(self, $module::$set::$method, op)
        }
    };
    (@method $module:ident $set:ident $method:ident $record:ident $t:ident) => {
        backend_api::real_op!($method, AnyQueue, $module::$record, {
            fn run<$t: Real>(
                q: &AnyQueue,
                op: backend_api::ops::$module::$record<'_, AnyQueue, $t>,
            ) -> Result<(), BackendError> {
                forwarded!(q, $module::$set::$method, op, $t)
            }
            run
        });
    };
}

backend_api::op_sets!(forward);
