//! Counts of dispatches and of exceptions to them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of a dispatcher since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls of ops.
    pub dispatches: u64,
    /// Calls that ran on the CPU since the device could not run them.
    pub fallbacks: u64,
    /// Backward passes and steps of an optimiser that took over state of another device.
    pub mixed: u64,
    /// Copies of a handle's values to a device.
    pub copies: u64,
}

/// The running counts.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    dispatches: AtomicU64,
    fallbacks: AtomicU64,
    mixed: AtomicU64,
    copies: AtomicU64,
}

impl Counts {
    pub(crate) fn dispatch(&self) {
        increment(&self.dispatches);
    }

    pub(crate) fn fallback(&self) {
        increment(&self.fallbacks);
    }

    pub(crate) fn mixed(&self) {
        increment(&self.mixed);
    }

    pub(crate) fn copied(&self) {
        increment(&self.copies);
    }

    pub(crate) fn snapshot(&self) -> Counters {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counters {
            dispatches: read(&self.dispatches),
            fallbacks: read(&self.fallbacks),
            mixed: read(&self.mixed),
            copies: read(&self.copies),
        }
    }
}

fn increment(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}
