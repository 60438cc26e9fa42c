//! Whether a launch still makes progress.
//!
//! Nothing but a change of memory, a barrier, the end of a thread or the start of a block can
//! release a thread that loops over the same registers. Once all threads do, and nothing of that
//! kind has happened meanwhile, the launch hangs for good.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
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
    /// Host threads that run blocks, or will.
    active: AtomicUsize,
    /// Active host threads whose blocks make no progress.
    stuck: AtomicUsize,
}

/// Progress of one host thread.
pub(super) struct HostProgress<'c> {
    common: &'c Common,
    /// Steps since something last happened here.
    quiet: u64,
    /// Turns that got somewhere, of all host threads, as of the last look.
    epoch: u64,
    stuck: bool,
}

impl Common {
    /// For `threads` host threads, each with one [`HostProgress`].
    pub(super) fn new(threads: usize) -> Self {
        Self { active: AtomicUsize::new(threads), ..Self::default() }
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
        Self { common, quiet: 0, epoch: common.changes.load(SeqCst), stuck: false }
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
        if !std::mem::replace(&mut self.stuck, true) {
            self.common.stuck.fetch_add(1, SeqCst);
        }
        self.common.stuck.load(SeqCst) == self.common.active.load(SeqCst) && !self.catch_up()
    }

    /// Takes note of what other host threads have done. True if that was anything.
    fn catch_up(&mut self) -> bool {
        let changes = self.common.changes.load(SeqCst);
        let changed = std::mem::replace(&mut self.epoch, changes) != changes;
        if changed && std::mem::take(&mut self.stuck) {
            self.common.stuck.fetch_sub(1, SeqCst);
        }
        changed
    }
}

impl Drop for HostProgress<'_> {
    fn drop(&mut self) {
        if self.stuck {
            self.common.stuck.fetch_sub(1, SeqCst);
        }
        self.common.active.fetch_sub(1, SeqCst);
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
