//! How much of the host's work goes to a device's driver.

use core::ops::Sub;

use crate::Queue;

/// What was handed to the driver of a device.
///
/// The host does its own work itself, so that its numbers stay zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Submissions {
    /// Driver calls, including those counted by other fields.
    ///
    /// Calls that only select a device are not counted.
    pub calls: u64,
    /// Kernels that were launched, or recorded to be, each by a call.
    pub launches: u64,
    /// Recordings that were replayed, each by a call, however many kernels they hold.
    pub replays: u64,
    /// Copies and fills.
    pub copies: u64,
    /// Allocated device memory blocks.
    pub allocations: u64,
    /// Waits for work.
    ///
    /// A wait with a time limit polls the driver: it counts as one wait, and every poll as a call.
    pub waits: u64,
}

impl Sub for Submissions {
    type Output = Self;

    /// What came after an earlier count.
    fn sub(self, earlier: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(earlier.calls),
            launches: self.launches.saturating_sub(earlier.launches),
            replays: self.replays.saturating_sub(earlier.replays),
            copies: self.copies.saturating_sub(earlier.copies),
            allocations: self.allocations.saturating_sub(earlier.allocations),
            waits: self.waits.saturating_sub(earlier.waits),
        }
    }
}

/// A queue that counts its submissions to the device's driver.
pub trait Counted: Queue {
    /// Submissions of all queues of this device since it was opened. Does not wait.
    fn submissions(&self) -> Submissions;
}
