//! The simulated machine, parameters and words.

use std::sync::OnceLock;

use cuda_sim::driver::{self, Simulation};
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark::{FriConfig, M31, PcsConfig};

/// Takes the turn at the simulated driver, with a new machine.
pub(crate) fn simulate(machine: &str) -> Simulation {
    // `runtime` installs a separate machine at the first queue; a later machine replaces it.
    static INSTALLED: OnceLock<()> = OnceLock::new();
    let first = driver::simulate("").unwrap();
    INSTALLED.get_or_init(|| drop(simulated_queue(None)));
    drop(first);
    driver::simulate(machine).unwrap()
}

/// A machine of one device, and a queue on it.
pub(crate) fn simulated() -> (Simulation, AnyQueue) {
    (simulate(""), simulated_queue(None))
}

/// A queue on the machine whose turn it is.
pub(crate) fn simulated_queue(mem_limit_bytes: Option<u64>) -> AnyQueue {
    let settings = Settings { mem_limit_bytes, ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Stark), Some(Choice::Sim)).unwrap().0
}

/// The default parameters, and others with another fold step, blow-up and number of queries.
pub(crate) fn configs() -> [PcsConfig; 2] {
    let config = PcsConfig::default();
    let fri_config = FriConfig { fold_step: 3, log_blowup_factor: 2, n_queries: 30, ..config.fri_config };
    [config, PcsConfig { fri_config, ..config }]
}

pub(crate) fn words<const N: usize>(words: [u32; N]) -> [M31; N] {
    words.map(M31::from_u32)
}
