//! Whether a launch still makes progress.
//!
//! Nothing but a change of memory, a barrier, the end of a thread or the start of a block can
//! release a thread that loops over the same registers. Once all threads do, and nothing of that
//! kind has happened meanwhile, the launch hangs for good.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{
        AtomicBool, AtomicU64, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

use super::warp::{FragmentState, Warp};

/// Steps without progress after which warps are looked at.
const PATIENCE: u64 = 1 << 16;

/// State shared by the host threads of a launch.
#[derive(Default)]
pub(super) struct Common {
    /// Steps made by all of them.
    spent: AtomicU64,
    /// Set when some block has failed.
    cancelled: AtomicBool,
    /// Turns that got somewhere.
    changes: AtomicU64,
    /// Host threads that have begun.
    begun: AtomicUsize,
    hosts: Mutex<Vec<HostState>>,
}

/// Whether the blocks of a host thread make progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostState {
    /// They do, or will.
    Running,
    /// They make none as long as [`Common::changes`] has this value.
    Stuck(u64),
    Ended,
}

/// Progress of one host thread.
pub(super) struct HostProgress<'c> {
    common: &'c Common,
    /// Its index among the host threads.
    number: usize,
    /// Steps since something last happened here.
    quiet: u64,
    /// Turns that got somewhere, of all host threads, as of the last look.
    epoch: u64,
}

impl Common {
    /// For `threads` host threads, each with one [`HostProgress`].
    pub(super) fn new(threads: usize) -> Self {
        Self { hosts: Mutex::new(vec![HostState::Running; threads]), ..Self::default() }
    }

    fn hosts(&self) -> MutexGuard<'_, Vec<HostState>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some block has failed: the others need not go on.
    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Whether some block has failed.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}

impl<'c> HostProgress<'c> {
    pub(super) fn new(common: &'c Common) -> Self {
        Self { common, number: common.begun.fetch_add(1, Relaxed), quiet: 0, epoch: common.changes.load(SeqCst) }
    }

    /// Adds `steps`, and returns the steps of all host threads so far.
    pub(super) fn spend(&self, steps: u64) -> u64 {
        self.common.spent.fetch_add(steps, Relaxed) + steps
    }

    /// Steps were made, with or without progress.
    pub(super) fn note(&mut self, steps: u64, progress: bool) {
        self.quiet += steps;
        if progress {
            self.quiet = 0;
            self.common.changes.fetch_add(1, SeqCst);
        }
    }

    /// Steps since something last happened here.
    pub(super) fn quiet(&self) -> u64 {
        self.quiet
    }

    /// A warp has looped for long: looks whether it goes in circles.
    pub(super) fn look(&mut self, warp: &mut Warp) {
        if self.quiet >= PATIENCE {
            self.catch_up();
            let state = state_of(warp);
            warp.circle.look(self.epoch, state);
        }
    }

    /// Whether no thread of the launch will ever make progress.
    ///
    /// `warps` are the warps of this host thread; no other warps start here as long as none of them
    /// ends.
    pub(super) fn is_over<'w>(&mut self, mut warps: impl Iterator<Item = &'w Warp>) -> bool {
        if self.quiet < PATIENCE {
            return false;
        }
        self.catch_up();
        let waits = |warp: &Warp| warp.fragments.iter().all(|fragment| fragment.state != FragmentState::Ready);
        if !warps.all(|warp| waits(warp) || warp.circle.is_closed(self.epoch)) {
            return false;
        }
        // A host thread that was stuck before the last change may no longer be, even if it has not run since.
        let stuck = HostState::Stuck(self.epoch);
        let common = self.common;
        let mut hosts = common.hosts();
        hosts[self.number] = stuck;
        hosts.iter().all(|&host| host == stuck || host == HostState::Ended) && !self.catch_up()
    }

    /// Takes note of what other host threads have done. True if that was anything.
    fn catch_up(&mut self) -> bool {
        let changes = self.common.changes.load(SeqCst);
        std::mem::replace(&mut self.epoch, changes) != changes
    }
}

impl Drop for HostProgress<'_> {
    fn drop(&mut self) {
        self.common.hosts()[self.number] = HostState::Ended;
    }
}

/// A hash of the state that determines the next steps of a warp's lanes.
///
/// It is complete while memory is unchanged.
fn state_of(warp: &Warp) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut fragments: Vec<(u32, u32)> = warp.fragments.iter().map(|fragment| (fragment.pc, fragment.mask)).collect();
    fragments.sort_unstable();
    fragments.hash(&mut hasher);
    warp.regs.w32.iter().for_each(|lanes| lanes.0.hash(&mut hasher));
    warp.regs.w64.iter().for_each(|lanes| lanes.0.hash(&mut hasher));
    warp.regs.p.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::iter::empty;

    use super::*;

    #[test]
    fn a_host_thread_without_warps_to_run_is_over_at_the_limit_of_patience() {
        let common = Common::new(1);
        let mut host = HostProgress::new(&common);
        host.note(PATIENCE - 1, false);
        assert!(!host.is_over(empty()));
        host.note(1, false);
        assert!(host.is_over(empty()));
        host.note(1, true);
        assert!(!host.is_over(empty()), "a change starts over");
    }

    #[test]
    fn a_launch_is_over_once_every_host_thread_is_stuck_since_the_same_change() {
        let common = Common::new(3);
        let [mut first, mut second, third] = [(); 3].map(|()| HostProgress::new(&common));
        first.note(PATIENCE, false);
        second.note(PATIENCE, false);
        assert!(!first.is_over(empty()));
        assert!(!second.is_over(empty()), "the third runs");
        drop(third);
        assert!(second.is_over(empty()));
        // The first may go on after a change, though it has not run since.
        second.note(1, true);
        second.note(PATIENCE, false);
        assert!(!second.is_over(empty()));
        assert!(first.is_over(empty()));
    }
}
