//! Marks of a queue that is chosen at run time.

use backend_api::{BackendError, Timed};
use cpu_backend::CpuMark;
#[cfg(feature = "cuda")]
use cuda_backend::CudaMark;

use super::{
    AnyQueue,
    dispatch::{inside, inside_all},
};

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
        inside!(self, AnyQueue(queue) => queue.mark(), wrap AnyMark)
    }

    fn elapsed_ns(&self, from: &AnyMark, to: &AnyMark) -> Result<i64, BackendError> {
        inside_all!(
            "elapsed_ns",
            [self => AnyQueue(queue), from => AnyMark(from), to => AnyMark(to)],
            queue.elapsed_ns(from, to)
        )
    }
}
