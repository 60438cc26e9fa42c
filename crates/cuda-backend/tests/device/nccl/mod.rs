//! Collectives by NCCL, the simulated one.

mod calls;
mod ends;
mod faults;

use std::time::Duration;

use backend_api::{CollectiveError, Ranks as _};
use collective::Local;
use cuda_backend::{CudaConfig, CudaQueue, KernelSource, NcclError, NcclRank};

use crate::definitions::on_threads;

type LocalNcclRank = NcclRank<Local>;

const LONG: Duration = Duration::from_mins(5);

/// A queue without kernels, which none of these tests needs.
fn open(device: u32) -> CudaQueue {
    let kernels = KernelSource::Texts(Vec::new());
    CudaQueue::open(CudaConfig { device, kernels, budget_bytes: Some(16 << 20), ..CudaConfig::default() }).unwrap()
}

fn queues(count: usize) -> Vec<CudaQueue> {
    (0..count as u32).map(open).collect()
}

/// Opens `count` devices, makes a group of them and runs it.
fn on_ranks<V: Send>(count: usize, patience: Duration, act: impl Fn(&CudaQueue, LocalNcclRank) -> V + Sync) -> Vec<V> {
    let queues = queues(count);
    let group = LocalNcclRank::among(&queues, Local::patient_group(count, patience)).unwrap();
    assert!(group.iter().enumerate().all(|(at, rank)| (rank.rank(), rank.ranks()) == (at, count)));
    on_threads(&queues, group, act)
}

fn collective(error: NcclError) -> CollectiveError {
    match error {
        NcclError::Collective(error) => error,
        other => panic!("{other}"),
    }
}
