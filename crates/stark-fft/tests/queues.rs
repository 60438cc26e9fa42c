//! Queues on the processor and on simulated devices. The tests of the prover have them too.

use std::{num::NonZeroUsize, sync::OnceLock};

use backend_api::Queue as _;
use collective::{Local, Staged};
use cuda_sim::driver::{self, Simulation};
use runtime::{AnyQueue, Choice, Domain, Settings};

/// Opens a queue with these settings.
pub(crate) fn open_with(choice: Choice, settings: &Settings) -> AnyQueue {
    runtime::open_with(settings, Some(Domain::Stark), Some(choice)).unwrap().0
}

pub(crate) fn processor() -> AnyQueue {
    AnyQueue::Cpu(runtime::cpu().unwrap())
}

/// Takes the turn at the simulated driver, with a new machine.
pub(crate) fn simulate(machine: &str) -> Simulation {
    // `runtime` installs a separate machine at the first queue; a later machine replaces it.
    static INSTALLED: OnceLock<()> = OnceLock::new();
    let first = driver::simulate("").unwrap();
    INSTALLED.get_or_init(|| drop(open_with(Choice::Sim, &Settings::default())));
    drop(first);
    driver::simulate(machine).unwrap()
}

/// A queue for each rank: on a separate device, or on the processor.
pub(crate) fn queues(choice: Choice, ranks: usize) -> Vec<AnyQueue> {
    let open = |rank| {
        let cuda_device = if choice == Choice::Sim { rank } else { 0 };
        open_with(choice, &Settings { cuda_device, threads: NonZeroUsize::new(1), ..Settings::default() })
    };
    (0..ranks as u32).map(open).collect()
}

/// A machine of one device, and a queue on it.
pub(crate) fn simulated() -> (Simulation, AnyQueue) {
    (simulate(""), open_with(Choice::Sim, &Settings::default()))
}

/// Runs each item on a thread with its queue, and returns the results.
///
/// Afterwards, no memory of the queues is in use.
pub(crate) fn on_queues<T: Send, V: Send>(
    queues: &[AnyQueue],
    items: impl IntoIterator<Item = T>,
    run: impl Fn(&AnyQueue, T) -> V + Sync,
) -> Vec<V> {
    let (run, items) = (&run, queues.iter().zip(items));
    let made: Vec<V> = test_process::scope(|scope| {
        let threads: Vec<_> = items.map(|(q, item)| scope.spawn(move || run(q, item))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
    made
}

/// A rank that passes data through the host.
pub(crate) type StagedRank = Staged<Local>;

/// Runs each rank of a group on a thread with its queue, and returns the results.
pub(crate) fn on_ranks<V: Send>(
    group: Vec<StagedRank>,
    choice: Choice,
    run: impl Fn(&AnyQueue, StagedRank) -> V + Sync,
) -> Vec<V> {
    on_queues(&queues(choice, group.len()), group, run)
}
