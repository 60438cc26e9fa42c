//! Queues for tests.

use runtime::{AnyQueue, Choice, Domain, Settings};

/// A queue on the processor or on the simulated device, with a budget of bytes or none.
pub(crate) fn open(choice: Choice, mem_limit_bytes: Option<u64>) -> AnyQueue {
    let settings = Settings { mem_limit_bytes, ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Pfss), Some(choice)).unwrap().0
}

/// The processor and the simulated device.
pub(crate) fn queues() -> [AnyQueue; 2] {
    [Choice::Cpu, Choice::Sim].map(|choice| open(choice, None))
}
