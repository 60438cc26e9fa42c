//! Queues at the vector levels that this processor has.

use std::num::NonZeroUsize;

use backend_api::{BackendError, Queue};
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

/// A queue at the strongest level.
pub(crate) fn strongest(threads: usize) -> CpuQueue {
    queue(Simd::detect_up_to(SimdLevel::Avx512), threads)
}

/// The most bytes that an op reserves on two threads.
///
/// The paths are portable: vectors of four words, and no instructions for bf16.
pub(crate) fn peak(op: impl FnOnce(&CpuQueue) -> Result<(), BackendError>) -> u64 {
    let q = queue(Simd::detect_up_to(SimdLevel::Portable), 2);
    op(&q).unwrap();
    assert_eq!(q.budget().live_bytes(), 0);
    q.budget().peak_bytes()
}

/// Queues at every level, each with one thread and with three.
pub(crate) fn queues() -> Vec<CpuQueue> {
    levels().flat_map(|simd| [1, 3].map(|threads| queue(simd, threads))).collect()
}

/// Expects `run` to give the same on all of `queues`; `of` names its input in the failure.
pub(crate) fn expect_equal<R: PartialEq>(queues: &[CpuQueue], of: &str, run: impl Fn(&CpuQueue) -> R) {
    let first = run(&queues[0]);
    for q in &queues[1..] {
        assert!(run(q) == first, "{of}, {q:?}");
    }
}
