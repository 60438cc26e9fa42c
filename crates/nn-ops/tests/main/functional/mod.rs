//! The operators that return their result: layouts of operands, values, refusals.

mod forms;
mod layouts;

use runtime::{AnyQueue, Choice, Settings};

/// Runs a test on the processor and on the simulated device.
fn on_each_device(test: impl Fn(&AnyQueue)) {
    for choice in [Choice::Cpu, Choice::Sim] {
        let (q, _) = runtime::open_with(&Settings::default(), None, Some(choice)).unwrap();
        test(&q);
    }
}
