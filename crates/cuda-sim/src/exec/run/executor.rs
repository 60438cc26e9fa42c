//! A host thread of a launch.

use super::check::shadow::global::GlobalShadow;
use super::job::{LaunchJob, LocatedFault};
use super::progress::HostProgress;
use crate::exec::counters::Counters;
use crate::exec::fault::FaultKind;
use crate::exec::lanes::float::mix;

/// What one host thread carries from block to block.
pub(super) struct Executor<'e, 'j> {
    pub(super) job: &'e LaunchJob<'j>,
    pub(super) counters: Counters,
    pub(super) shadow: Option<GlobalShadow>,
    pub(super) progress: HostProgress<'e>,
    /// Of the random numbers.
    pub(super) state: u64,
}

impl Executor<'_, '_> {
    /// A number below `bound`, by the seed of the schedule.
    pub(super) fn random(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state) % bound.max(1)
    }

    /// Counts steps against the watchdog. False once it has run out.
    pub(super) fn spend(&self, steps: u64) -> bool {
        let watchdog = self.job.options.watchdog;
        self.progress.spend(steps) <= watchdog && self.progress.quiet() <= quiet_limit(watchdog)
    }

    pub(super) fn failure(&self, kind: FaultKind, pc: u32, block: [u32; 3], thread: [u32; 3]) -> LocatedFault {
        LocatedFault { kind, pc, block, thread, earlier: None }
    }
}

/// Steps without any progress after which a launch counts as hung.
fn quiet_limit(watchdog: u64) -> u64 {
    (watchdog / 128).max(1 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_128th_of_the_watchdog_without_progress_is_too_long() {
        let limits = [0, 1 << 31, (1 << 31) + 128, 1 << 34].map(quiet_limit);
        assert_eq!(limits, [1 << 24, 1 << 24, (1 << 24) + 1, 1 << 27]);
    }
}
