//! Reads that wait, counted.

use std::{cell::Cell, ops::Sub};

thread_local! {
    static COUNTS: Cell<ReadCounts> = const { Cell::new(ReadCounts { ahead: 0, single: 0 }) };
}

/// How often a thread waited for values that stwo reads one by one.
///
/// Where memory is the host's, there is nothing to wait for, and nothing is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Reads of many values, ahead of their use.
    pub ahead: u64,
    /// Reads of one value that was not read ahead.
    pub single: u64,
}

impl ReadCounts {
    /// Returns the counts of this thread, from its beginning.
    #[must_use]
    pub fn of_thread() -> Self {
        COUNTS.get()
    }

    pub(crate) fn count_ahead() {
        let counts = COUNTS.get();
        COUNTS.set(Self { ahead: counts.ahead + 1, ..counts });
    }

    pub(crate) fn count_single() {
        let counts = COUNTS.get();
        COUNTS.set(Self { single: counts.single + 1, ..counts });
    }
}

impl Sub for ReadCounts {
    type Output = Self;

    /// What came after an earlier count.
    fn sub(self, earlier: Self) -> Self {
        Self { ahead: self.ahead.saturating_sub(earlier.ahead), single: self.single.saturating_sub(earlier.single) }
    }
}
