//! Queues on the processor and on the simulated machine.

use std::sync::OnceLock;

use cuda_sim::driver::{self, Simulation};
use runtime::{AnyQueue, Choice, Domain, Settings};

/// A queue on the processor with a byte budget.
pub(crate) fn cpu(budget: Option<u64>) -> AnyQueue {
    open(Choice::Cpu, budget)
}

fn open(choice: Choice, mem_limit_bytes: Option<u64>) -> AnyQueue {
    let settings = Settings { mem_limit_bytes, ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Pfss), Some(choice)).unwrap().0
}

/// The simulated machine, for one test at a time.
pub(crate) struct Sim {
    pub(crate) session: Simulation,
}

impl Sim {
    pub(crate) fn new(spec: &str) -> Self {
        // `runtime` installs its own machine the first time; later ones replace it.
        static INSTALLED: OnceLock<()> = OnceLock::new();
        let first = driver::simulate("").unwrap();
        INSTALLED.get_or_init(|| drop(open(Choice::Sim, None)));
        drop(first);
        Self { session: driver::simulate(spec).unwrap() }
    }

    pub(crate) fn queue(&self, budget: Option<u64>) -> AnyQueue {
        open(Choice::Sim, budget)
    }
}
