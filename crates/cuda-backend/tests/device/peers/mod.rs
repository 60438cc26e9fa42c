//! Ranks that copy from each other's devices exchange data by the definitions, or fail together.

mod calls;
mod faults;
mod routes;

use backend_api::Queue as _;
use cuda_backend::{Allocator, CudaConfig, CudaQueue, PeerRank};

use super::support;
use crate::definitions::on_threads;

/// A queue on each of `devices` devices.
fn open(devices: u32) -> Vec<CudaQueue> {
    open_with(devices, Allocator::Auto)
}

fn open_with(devices: u32, allocator: Allocator) -> Vec<CudaQueue> {
    let open = |device| CudaQueue::open(CudaConfig { device, ..support::config(allocator) }).unwrap();
    (0..devices).map(open).collect()
}

/// As [`on_threads`], after which no memory is left.
fn on_ranks<V: Send>(
    queues: &[CudaQueue],
    group: Vec<PeerRank>,
    run: impl Fn(&CudaQueue, PeerRank) -> V + Sync,
) -> Vec<V> {
    let done = on_threads(queues, group, run);
    assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
    done
}
