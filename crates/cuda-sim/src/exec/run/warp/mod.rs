//! The state of one warp: registers, fragments, local memory.

mod circle;
mod copies;
mod preset;
mod regs;
mod undefined;

use self::circle::Circle;
use self::copies::AsyncCopies;
use self::preset::{differs_by_lane, preset_value};
use self::undefined::Undefined;
use super::job::LaunchJob;
use super::trouble::StepResult;
use super::written::Byte;
use crate::exec::code::{Code, CodeStep, Preset};
use crate::exec::collective::CollectiveOp;
use crate::exec::lanes::{FULL, LaneBits, WARP};

pub(super) use self::copies::PendingCopy;
pub(super) use self::preset::thread_at;
pub(super) use self::regs::{Regs, UNWRITTEN};

/// Whether a fragment can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::run) enum FragmentState {
    Ready,
    /// At a collective, waiting for other lanes of the warp.
    Parked,
    /// At the block barrier of that number.
    AtBarrier(u8),
}

/// Lanes of a warp that stand at one step.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec::run) struct Fragment {
    pub(in crate::exec::run) pc: u32,
    pub(in crate::exec::run) mask: u32,
    pub(in crate::exec::run) state: FragmentState,
    /// Backward branches since others had their turn.
    pub(in crate::exec::run) loops: u32,
}

impl Fragment {
    /// Whether it has looped for so long that others go first.
    ///
    /// These are `others` of its warp, or else other warps.
    pub(in crate::exec::run) fn is_tired(&self, others: bool) -> bool {
        self.loops >= if others { 64 } else { 4096 }
    }
}

/// One warp of a block.
pub(in crate::exec::run) struct Warp {
    pub(in crate::exec::run) index: u32,
    /// Lanes that have not exited.
    pub(in crate::exec::run) live: u32,
    /// Lanes that stand for a thread.
    pub(in crate::exec::run) exists: u32,
    pub(in crate::exec::run) fragments: Vec<Fragment>,
    /// Times that all of them had looped for long.
    pub(in crate::exec::run) rounds: u32,
    pub(in crate::exec::run) regs: Regs,
    /// Local memory, lane after lane.
    pub(in crate::exec::run) local: Vec<u8>,
    /// State of the local bytes, if that is checked.
    pub(in crate::exec::run) local_written: Vec<Byte>,
    /// Registers without a value, if some are known and that is checked.
    pub(in crate::exec::run) undefined: Option<Box<Undefined>>,
    /// Lanes that are sure to run together, if some step needs them.
    ///
    /// Lanes that a branch has parted need not meet again before a collective, though they do here.
    together: Vec<u32>,
    /// Barriers that lanes have gone past since they last came to one.
    skipped: Vec<(u32, u64)>,
    /// Barriers of the whole block that each lane has come to.
    pub(in crate::exec::run) arrived: [u32; WARP],
    pub(in crate::exec::run) copies: AsyncCopies,
    /// Whether it goes in circles.
    pub(in crate::exec::run) circle: Circle,
    /// Index of the region that was accessed last.
    pub(in crate::exec::run) hot: usize,
    /// Index of the array in shared memory that was accessed last.
    pub(in crate::exec::run) hot_array: usize,
    /// The step that is running, for faults.
    pub(in crate::exec::run) pc: u32,
}

impl Warp {
    /// A warp that has not started: `threads` of its lanes stand for threads.
    pub(in crate::exec::run) fn new(index: u32, threads: u32, code: &Code) -> Self {
        let exists = if threads >= WARP as u32 { FULL } else { (1 << threads) - 1 };
        Self {
            index,
            live: 0,
            exists,
            fragments: Vec::new(),
            rounds: 0,
            regs: Regs::new(code),
            local: vec![0; code.local as usize * WARP],
            local_written: Vec::new(),
            undefined: None,
            together: Vec::new(),
            skipped: Vec::new(),
            arrived: [0; WARP],
            copies: AsyncCopies::default(),
            circle: Circle::default(),
            hot: 0,
            hot_array: 0,
            pc: 0,
        }
    }

    /// Readies the warp for block `block` of `job`.
    pub(in crate::exec::run) fn start(&mut self, job: &LaunchJob<'_>, block: [u32; 3]) {
        let code = job.code;
        self.live = self.exists;
        self.fragments.clear();
        self.rounds = 0;
        self.fragments.push(Fragment { pc: code.start, mask: self.exists, state: FragmentState::Ready, loops: 0 });
        self.copies = AsyncCopies::default();
        self.circle = Circle::default();
        self.local.fill(UNWRITTEN as u8);
        self.local_written.clear();
        self.together.clear();
        if code.active_mask {
            self.together.push(self.exists);
        }
        self.skipped.clear();
        self.arrived = [0; WARP];
        self.undefined = None;
        if job.options.checks.uninitialised {
            self.local_written.resize(self.local.len(), Byte::Unwritten);
            if !code.unassigned().is_empty() {
                let undefined = self.undefined.insert(Box::new(Undefined::new(code)));
                code.unassigned().iter().for_each(|&register| undefined.set(code.number_of(register), FULL, FULL));
            }
        }
        let regs = &mut self.regs;
        regs.forget(code);
        if let Some(always) = code.true_predicate {
            regs.p[always as usize] = FULL;
        }
        for &(reg, preset) in &code.presets32 {
            let words = &mut regs.w32[reg as usize].0;
            match preset {
                Preset::Special(special) if differs_by_lane(special) => {
                    for (lane, word) in words.iter_mut().enumerate() {
                        *word = preset_value(preset, job, block, self.index, lane) as u32;
                    }
                }
                _ => *words = [preset_value(preset, job, block, self.index, 0) as u32; WARP],
            }
        }
        for &(reg, preset) in &code.presets64 {
            regs.w64[reg as usize].0 = [preset_value(preset, job, block, self.index, 0); WARP];
        }
    }

    /// Lanes go another way than others.
    pub(in crate::exec::run) fn part(&mut self, lanes: u32) {
        let parts = self.together.iter().flat_map(|group| [group & lanes, group & !lanes]);
        self.together = parts.filter(|&part| part != 0).collect();
    }

    /// Lanes meet at a collective.
    pub(in crate::exec::run) fn meet(&mut self, lanes: u32) {
        if self.together.len() > 1 {
            self.together.retain_mut(|group| {
                *group &= !lanes;
                *group != 0
            });
            self.together.push(lanes);
        }
    }

    /// For each lane, those that surely go together with it.
    pub(in crate::exec::run) fn groups(&self) -> [u32; WARP] {
        let mut groups = [0; WARP];
        self.together.iter().for_each(|&group| LaneBits(group).for_each(|lane| groups[lane] = group));
        groups
    }

    /// Lanes `taken` of `mask` take a fork.
    pub(in crate::exec::run) fn skip(&mut self, code: &Code, fork: u32, taken: u32, mask: u32) {
        let sides = code.forks[fork as usize].into_iter().zip([taken, mask & !taken]);
        for (barriers, lanes) in sides {
            match self.skipped.iter_mut().find(|(_, known)| *known == barriers) {
                Some((known, _)) => *known |= lanes,
                None => self.skipped.push((lanes, barriers)),
            }
        }
    }

    /// Lanes come to a barrier of the whole block.
    pub(in crate::exec::run) fn arrive(&mut self, mask: u32) {
        LaneBits(mask).for_each(|lane| self.arrived[lane] += 1);
        self.skipped.iter_mut().for_each(|(lanes, _)| *lanes &= !mask);
    }

    /// A lane that ended after it went past a barrier that others have reached.
    ///
    /// The barrier is number `barrier` of the code. Others have reached it as their barrier number
    /// `count`.
    pub(in crate::exec::run) fn absentee(&self, barrier: usize, count: u32) -> Option<usize> {
        let ended = self.exists & !self.live;
        let past = self.skipped.iter().filter(|(_, barriers)| barriers >> barrier & 1 == 1);
        let lanes = past.fold(0, |lanes, (more, _)| lanes | more);
        LaneBits(lanes & ended).find(|&lane| self.arrived[lane] + 1 == count)
    }

    /// Where it is noted which registers hold nothing that is defined.
    pub(in crate::exec::run) fn undefined_registers(&mut self, code: &Code) -> &mut Undefined {
        self.undefined.get_or_insert_with(|| Box::new(Undefined::new(code)))
    }

    /// Checks a step that lanes of `mask` are about to make, and tracks its results.
    #[inline(never)]
    pub(in crate::exec::run) fn follow(&mut self, code: &Code, step: &CodeStep, mask: u32, pc: u32) -> StepResult {
        let Some(mut undefined) = self.undefined.take() else { return Ok(()) };
        self.pc = pc;
        let outcome = undefined.step(&self.regs, code, step, mask);
        self.undefined = Some(undefined).filter(|undefined| !undefined.is_empty());
        outcome
    }

    /// Tracks the results of a collective that lanes have carried out.
    ///
    /// `from` holds the source of each lane of a shuffle.
    pub(in crate::exec::run) fn collect(
        &mut self,
        code: &Code,
        collective: &CollectiveOp,
        lanes: u32,
        from: &[u8; WARP],
    ) {
        if let Some(mut undefined) = self.undefined.take() {
            undefined.collect(code, collective, lanes, from);
            self.undefined = Some(undefined).filter(|undefined| !undefined.is_empty());
        }
    }

    /// Whether every thread has ended.
    pub(in crate::exec::run) fn is_done(&self) -> bool {
        self.fragments.is_empty()
    }

    /// Coordinates of a thread within its block.
    pub(in crate::exec::run) fn thread(&self, lane: usize, block: [u32; 3]) -> [u32; 3] {
        thread_at(self.index * WARP as u32 + lane as u32, block)
    }
}
