//! Queues of unit tests: without kernels, or with launches that a test sees before they run.

use cuda_sim::driver::{Simulation, simulate};

use crate::{CudaConfig, CudaQueue, KernelSource, ProgramKind, ProgramSource};

const KINDS: [ProgramKind; 2] = [ProgramKind::Evaluate, ProgramKind::Fractions];

/// The kernels of [`queue`].
///
/// They have blocks of 128 threads; a multiprocessor is to hold one block.
pub(crate) const KERNELS: [&str; 2] = [KINDS[0].kernel(), KINDS[1].kernel()];

/// A queue without kernels on the first device of a machine by `spec`.
pub(crate) fn bare(spec: &str) -> (Simulation, CudaQueue) {
    let (session, kernels) = (simulate(spec).unwrap(), KernelSource::Texts(Vec::new()));
    (session, CudaQueue::open(CudaConfig { kernels, ..CudaConfig::default() }).unwrap())
}

/// A queue on a simulated device of `multiprocessors`.
pub(crate) fn queue(multiprocessors: u32) -> (Simulation, CudaQueue) {
    let session = simulate(&format!("sms={multiprocessors}")).unwrap();
    let empty = |kind| ProgramSource { kind, instructions: &[], masks: &[], constants: &[] }.text();
    let kernels = KernelSource::Texts(Vec::from(KINDS.map(empty)));
    (session, CudaQueue::open(CudaConfig { kernels, ..CudaConfig::default() }).unwrap())
}
