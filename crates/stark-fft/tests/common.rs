//! Domains, columns, and the simulated machine.

use std::sync::OnceLock;

use cuda_sim::driver::{self, Simulation};
use runtime::{AnyQueue, Choice, Settings};
use stark_fft::{CanonicDomain, HostColumns, M31, Representation};

pub(crate) fn domain(log_size: u32) -> CanonicDomain {
    CanonicDomain::new(log_size).unwrap()
}

/// Random words; another count gives others.
pub(crate) fn columns<R: Representation>(log_size: u32, count: usize) -> HostColumns<R> {
    let mut rng = fastrand::Rng::with_seed(count as u64);
    let words = (0..count << log_size).map(|_| M31::from_u32(rng.u32(..))).collect();
    HostColumns::new(domain(log_size), words).unwrap()
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

pub(crate) fn processor() -> AnyQueue {
    AnyQueue::Cpu(runtime::cpu().unwrap())
}

/// A machine of one device, and a queue on it.
pub(crate) fn simulated() -> (Simulation, AnyQueue) {
    (simulate(""), open())
}

fn open() -> AnyQueue {
    runtime::open_with(&Settings::default(), None, Some(Choice::Sim)).unwrap().0
}
