//! Transforms of columns that ranks share, compared with transforms on one device.

mod faults;
mod transforms;

use core::num::NonZeroUsize;

use backend_api::{Queue as _, Ranks as _};
use collective::{Local, Staged};
use cuda_sim::driver::Simulation;
use runtime::{AnyQueue, Choice, Settings};
use stark_fft::Shard;

use crate::common::{domain, simulate};

fn open(choice: Choice, cuda_device: u32, mem_limit_bytes: Option<u64>) -> AnyQueue {
    let settings = Settings { cuda_device, mem_limit_bytes, threads: NonZeroUsize::new(1), ..Settings::default() };
    runtime::open_with(&settings, None, Some(choice)).unwrap().0
}

/// Four devices with these checks.
fn devices(checks: &str) -> Simulation {
    simulate(&format!("devices=4;checks={checks}"))
}

type Rank = Staged<Local>;

/// Runs each rank of a group on a thread with a separate device, and returns the results.
fn on_ranks<V: Send>(group: Vec<Rank>, choice: Choice, run: impl Fn(&AnyQueue, Rank) -> V + Sync) -> Vec<V> {
    let run = &run;
    test_process::scope(|scope| {
        let ranks = group.into_iter().map(|rank| {
            scope.spawn(move || {
                let q = open(choice, if choice == Choice::Sim { rank.rank() as u32 } else { 0 }, None);
                let made = run(&q, rank);
                assert_eq!(q.budget().live_bytes(), 0);
                made
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn shard(log_size: u32, rank: &Rank) -> Shard {
    Shard::new(domain(log_size), rank.rank(), rank.ranks()).unwrap()
}

/// Log of the most ranks up to 16 that share columns.
fn most_ranks(log_size: u32) -> u32 {
    (0..=4).rev().find(|log_ranks| Shard::new(domain(log_size), 0, 1 << log_ranks).is_ok()).unwrap()
}
