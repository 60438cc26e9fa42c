//! A proof made by several devices together is identical to the proof of one.

mod bytes;
mod faults;
mod interaction;
mod nccl;
mod peers;
mod proofs;
mod watched;

use core::num::NonZeroUsize;

use backend_api::{Queue as _, Ranks as _};
use collective::{Local, Staged};
use cuda_sim::driver::Simulation;
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark::{M31, TraceColumns};
use stark_airs::WideFibonacci;

use crate::common::simulate;

fn open(choice: Choice, cuda_device: u32) -> AnyQueue {
    let settings = Settings { cuda_device, threads: NonZeroUsize::new(1), ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Stark), Some(choice)).unwrap().0
}

/// Eight devices.
fn devices() -> Simulation {
    simulate("devices=8")
}

fn wide(log_rows: u32, columns: u32) -> (WideFibonacci, Vec<TraceColumns>) {
    let air = WideFibonacci::new(log_rows, columns).unwrap();
    let seeds: Vec<_> = (0..1 << log_rows).map(|row| [row, 7 * row + 1].map(M31::from_u32)).collect();
    let trace = air.trace(&seeds).unwrap();
    (air, trace)
}

type Rank = Staged<Local>;

/// Runs each rank of a group on a thread with a separate device, and returns the results.
fn on_ranks<V: Send>(group: Vec<Rank>, choice: Choice, run: impl Fn(&AnyQueue, Rank) -> V + Sync) -> Vec<V> {
    let run = &run;
    test_process::scope(|scope| {
        let ranks: Vec<_> = group
            .into_iter()
            .map(|rank| {
                scope.spawn(move || {
                    let q = open(choice, if choice == Choice::Sim { rank.rank() as u32 } else { 0 });
                    let made = run(&q, rank);
                    assert_eq!(q.budget().live_bytes(), 0);
                    made
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}
