//! Block barriers, as data.

use crate::exec::collective::BarRed;

/// Named barriers of a block.
pub(super) const BARRIERS: usize = 16;

/// One named barrier, while some threads have arrived and others have not.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    /// Threads that must arrive; absent for every thread of the block that has not exited.
    pub(super) expected: Option<u32>,
    pub(super) arrived: u32,
    /// Threads whose predicate was true, and false.
    pub(super) votes: (u32, u32),
}

impl Barrier {
    /// Whether no thread has arrived.
    pub(super) fn is_idle(&self) -> bool {
        self.arrived == 0
    }

    /// Whether every expected thread has arrived.
    pub(super) fn is_complete(&self, live_threads: u32) -> bool {
        !self.is_idle() && self.arrived >= self.expected.unwrap_or(live_threads)
    }

    /// The result of a reduction: a count, or all ones or zeros.
    pub(super) fn reduced(&self, op: BarRed) -> u32 {
        let flag = |value: bool| if value { u32::MAX } else { 0 };
        match op {
            BarRed::Popc => self.votes.0,
            BarRed::And => flag(self.votes.1 == 0),
            BarRed::Or => flag(self.votes.0 > 0),
        }
    }

    /// Who has arrived and how many are missing, for deadlock reports.
    pub(super) fn describe(&self, live_threads: u32) -> String {
        format!("{} of {} threads arrived", self.arrived, self.expected.unwrap_or(live_threads))
    }
}
