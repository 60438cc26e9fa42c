//! Transforms of columns that ranks share, compared with transforms on one device.

mod faults;
mod transforms;

use core::num::NonZeroUsize;

use backend_api::Ranks as _;
use collective::{Local, Staged};
use cuda_sim::driver::Simulation;
use runtime::{AnyQueue, Choice, Settings};
use stark_fft::Shard;

use crate::common::{domain, on_queues, open_with, simulate};

fn open(choice: Choice, cuda_device: u32, mem_limit_bytes: Option<u64>) -> AnyQueue {
    let settings = Settings { cuda_device, mem_limit_bytes, threads: NonZeroUsize::new(1), ..Settings::default() };
    open_with(choice, &settings)
}

/// Four devices with these checks.
fn devices(checks: &str) -> Simulation {
    simulate(&format!("devices=4;checks={checks}"))
}

type Rank = Staged<Local>;

/// A queue for each rank: on a separate device, or on the processor.
fn queues(choice: Choice, ranks: usize) -> Vec<AnyQueue> {
    (0..ranks as u32).map(|rank| open(choice, if choice == Choice::Sim { rank } else { 0 }, None)).collect()
}

fn on_ranks<V: Send>(group: Vec<Rank>, choice: Choice, run: impl Fn(&AnyQueue, Rank) -> V + Sync) -> Vec<V> {
    on_queues(&queues(choice, group.len()), group, run)
}

fn shard(log_size: u32, rank: &Rank) -> Shard {
    Shard::new(domain(log_size), rank.rank(), rank.ranks()).unwrap()
}

/// Log of the most ranks up to 16 that share columns.
fn most_ranks(log_size: u32) -> u32 {
    (0..=4).rev().find(|log_ranks| Shard::new(domain(log_size), 0, 1 << log_ranks).is_ok()).unwrap()
}
