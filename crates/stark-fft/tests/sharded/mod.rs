//! Transforms of columns that ranks share, compared with transforms on one device.

mod faults;
mod transforms;

use backend_api::Ranks as _;
use cuda_sim::driver::Simulation;
use stark_fft::Shard;

use crate::{
    common::domain,
    queues::{StagedRank, simulate},
};

/// Four devices with these checks.
fn devices(checks: &str) -> Simulation {
    simulate(&format!("devices=4;checks={checks}"))
}

fn shard(log_size: u32, rank: &StagedRank) -> Shard {
    Shard::new(domain(log_size), rank.rank(), rank.ranks()).unwrap()
}

/// Log of the most ranks up to 16 that share columns.
fn most_ranks(log_size: u32) -> u32 {
    (0..=4).rev().find(|log_ranks| Shard::new(domain(log_size), 0, 1 << log_ranks).is_ok()).unwrap()
}
