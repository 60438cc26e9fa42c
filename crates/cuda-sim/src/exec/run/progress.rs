//! Whether a launch still gets anywhere.
//!
//! Nothing but a change of memory, a barrier, the end of a thread or the start of a block can release a thread that loops
//! over the same registers. Once all threads do, and nothing of that kind has happened meanwhile, the launch hangs for good.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

use super::warp::{State, Warp};

/// Steps without progress after which warps are looked at.
const PATIENCE: u64 = 1 << 16;

/// What the host threads of a launch tell each other.
#[derive(Default)]
pub(super) struct Common {
    /// Turns that got somewhere.
    changes: AtomicU64,
    /// Host threads that run blocks, or will.
    active: AtomicUsize,
    /// Those of them whose blocks get nowhere.
    stuck: AtomicUsize,
}

/// What one host thread knows.
pub(super) struct Progress<'c> {
    common: &'c Common,
    /// Steps since something last happened here.
    quiet: u64,
    /// Turns that got somewhere, of all host threads, as of the last look.
    epoch: u64,
    stuck: bool,
}

impl Common {
    /// For so many host threads, each of which has a [`Progress`] once.
    pub(super) fn new(threads: usize) -> Self {
        Self { active: AtomicUsize::new(threads), ..Self::default() }
    }
}

impl<'c> Progress<'c> {
    pub(super) fn new(common: &'c Common) -> Self {
        Self { common, quiet: 0, epoch: common.changes.load(SeqCst), stuck: false }
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

    /// Whether no thread of the launch will ever get anywhere; `warps` are those of this host thread, all that there will be
    /// as long as none of them ends.
    pub(super) fn is_over<'w>(&mut self, mut warps: impl Iterator<Item = &'w Warp>) -> bool {
        if self.quiet < PATIENCE {
            return false;
        }
        self.catch_up();
        let waits = |warp: &Warp| warp.fragments.iter().all(|fragment| fragment.state != State::Ready);
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

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if self.stuck {
            self.common.stuck.fetch_sub(1, SeqCst);
        }
        self.common.active.fetch_sub(1, SeqCst);
    }
}

/// All that decides what the lanes of a warp do next, as long as memory stays as it is.
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

/// Whether the states of a warp come round again: Brent, "An Improved Monte Carlo Factorization Algorithm".
#[derive(Default)]
pub(super) struct Circle {
    epoch: u64,
    /// A state that may come again.
    state: u64,
    looks: u64,
    /// The look at which another state takes its place.
    next: u64,
    closed: bool,
}

impl Circle {
    fn look(&mut self, epoch: u64, state: u64) {
        if self.next == 0 || self.epoch != epoch {
            *self = Self { epoch, state, looks: 0, next: 1, closed: false };
            return;
        }
        self.looks += 1;
        self.closed |= self.state == state;
        if self.looks == self.next {
            (self.state, self.next) = (state, 2 * self.next);
        }
    }

    fn is_closed(&self, epoch: u64) -> bool {
        self.closed && self.epoch == epoch
    }
}
