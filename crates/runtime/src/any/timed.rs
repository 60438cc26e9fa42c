//! Marks of a queue that is chosen at run time.

use backend_api::{BackendError, Timed};
use cpu_backend::CpuMark;
#[cfg(feature = "cuda")]
use cuda_backend::CudaMark;

use super::AnyQueue;

/// A point in the work of an [`AnyQueue`].
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyMark {
    /// On the host processor.
    Cpu(CpuMark),
    /// On a GPU, or the simulated one.
    #[cfg(feature = "cuda")]
    Cuda(CudaMark),
}

impl Timed for AnyQueue {
    type Mark = AnyMark;

    fn mark(&self) -> Result<AnyMark, BackendError> {
        match self {
            Self::Cpu(queue) => queue.mark().map(AnyMark::Cpu),
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => queue.mark().map(AnyMark::Cuda),
        }
    }

    fn elapsed_ns(&self, from: &AnyMark, to: &AnyMark) -> Result<i64, BackendError> {
        match (self, from, to) {
            (Self::Cpu(queue), AnyMark::Cpu(from), AnyMark::Cpu(to)) => queue.elapsed_ns(from, to),
            #[cfg(feature = "cuda")]
            (Self::Cuda(queue), AnyMark::Cuda(from), AnyMark::Cuda(to)) => queue.elapsed_ns(from, to),
            _ => Err(BackendError::MixedBackend { op: "elapsed_ns" }),
        }
    }
}
