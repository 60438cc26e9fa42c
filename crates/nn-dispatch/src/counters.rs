//! Counts of dispatches and of exceptions to them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of a dispatcher since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Calls of ops.
    pub dispatches: u64,
    /// Calls that ran on the CPU since the device could not run them.
    pub fallbacks: u64,
    /// Backward passes and steps of an optimizer that took over state of another device.
    pub mixed: u64,
    /// Copies of a handle's values to a device.
    pub copies: u64,
}

/// The running counts.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) dispatches: Count,
    pub(crate) fallbacks: Count,
    pub(crate) mixed: Count,
    pub(crate) copies: Count,
}

/// A number that threads count up.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn increment(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counts {
    pub(crate) fn snapshot(&self) -> Counters {
        let Self { dispatches, fallbacks, mixed, copies } = self;
        Counters { dispatches: dispatches.get(), fallbacks: fallbacks.get(), mixed: mixed.get(), copies: copies.get() }
    }
}
