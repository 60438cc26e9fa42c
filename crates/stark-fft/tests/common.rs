//! Domains, and the simulated machine.

use std::sync::OnceLock;

use cuda_sim::driver::{self, Simulation};
use runtime::{AnyQueue, Choice, Settings};
use stark_fft::CanonicDomain;

pub(crate) fn domain(log_size: u32) -> CanonicDomain {
    CanonicDomain::new(log_size).unwrap()
}

/// Takes the turn at the simulated driver, with a new machine.
pub(crate) fn simulate(machine: &str) -> Simulation {
    // `runtime` installs a separate machine at the first queue; a later machine replaces it.
    static INSTALLED: OnceLock<()> = OnceLock::new();
    let first = driver::simulate("").unwrap();
    INSTALLED.get_or_init(|| drop(open()));
    drop(first);
    driver::simulate(machine).unwrap()
}

/// A machine of one device, and a queue on it.
pub(crate) fn simulated() -> (Simulation, AnyQueue) {
    (simulate(""), open())
}

fn open() -> AnyQueue {
    runtime::open_with(&Settings::default(), None, Some(Choice::Sim)).unwrap().0
}
