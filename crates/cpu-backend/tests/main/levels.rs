//! Queues at the vector levels that this processor has.

use std::num::NonZeroUsize;

use cpu_backend::{CpuConfig, CpuQueue, Simd, SimdLevel};

/// Every level that this processor can run, weakest first.
pub(crate) fn levels() -> impl Iterator<Item = Simd> {
    SimdLevel::ALL.into_iter().filter(|level| level.is_available()).map(Simd::detect_up_to)
}

/// A queue on the paths `simd`, without a byte limit.
pub(crate) fn queue(simd: Simd, threads: usize) -> CpuQueue {
    let config = CpuConfig { threads: NonZeroUsize::new(threads), ..CpuConfig::default() };
    CpuQueue::with_simd(config, simd).unwrap()
}

/// Queues at every level, each with one thread and with three.
pub(crate) fn queues() -> Vec<CpuQueue> {
    levels().flat_map(|simd| [1, 3].map(|threads| queue(simd, threads))).collect()
}
