//! The state of one warp: registers, fragments, local memory.

use ptx::ast::{Axis, Special};

use super::super::code::{Code, Preset, R, Slot, Target};
use super::super::lanes::{Bits, FULL, Lanes, WARP};
use super::asynchronous::AsyncCopies;
use super::check::Byte;
use super::job::Job;
use super::progress::Circle;
use super::undefined::Undefined;

/// What registers hold before they are written: a pattern that is unlikely to be mistaken for data.
pub(super) const UNWRITTEN: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// The register files of a warp.
#[derive(Default)]
pub(super) struct Regs {
    pub(super) w32: Vec<Lanes<u32>>,
    pub(super) w64: Vec<Lanes<u64>>,
    pub(super) p: Vec<u32>,
}

impl Regs {
    /// The value in one lane of a slot, as 64 bits.
    #[inline(always)]
    pub(super) fn lane(&self, slot: Slot, lane: usize) -> u64 {
        match slot {
            Slot::W32(reg) | Slot::Narrow(reg, _) => self.w32[reg as usize].0[lane].into(),
            Slot::W64(reg) => self.w64[reg as usize].0[lane],
            Slot::None => 0,
        }
    }

    /// Sets one lane of a slot to the low bits of `value`.
    #[inline(always)]
    pub(super) fn set_lane(&mut self, slot: Slot, lane: usize, value: u64) {
        match slot {
            Slot::W32(reg) => self.w32[reg as usize].0[lane] = value as u32,
            Slot::Narrow(reg, bits) => self.w32[reg as usize].0[lane] = value as u32 & ((1 << bits) - 1),
            Slot::W64(reg) => self.w64[reg as usize].0[lane] = value,
            Slot::None => {}
        }
    }

    /// Address of an access in every lane.
    #[inline(always)]
    pub(super) fn addresses(&self, target: Target) -> [u64; WARP] {
        let mut addresses = [target.offset.cast_unsigned(); WARP];
        match target.base {
            Slot::W64(reg) => {
                let base = &self.w64[reg as usize].0;
                for (address, base) in addresses.iter_mut().zip(base) {
                    *address = address.wrapping_add(*base);
                }
            }
            Slot::W32(reg) | Slot::Narrow(reg, _) => {
                let base = &self.w32[reg as usize].0;
                for (address, &base) in addresses.iter_mut().zip(base) {
                    *address = u64::from((*address as u32).wrapping_add(base));
                }
            }
            Slot::None => {}
        }
        addresses
    }

    pub(super) fn set_predicate(&mut self, reg: R, mask: u32, value: u32) {
        let p = &mut self.p[reg as usize];
        *p = *p & !mask | value & mask;
    }
}

/// Whether a fragment can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// At a collective, waiting for other lanes of the warp.
    Parked,
    /// At the block barrier of that number.
    AtBarrier(u8),
}

/// Lanes of a warp that stand at one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment {
    pub(super) pc: u32,
    pub(super) mask: u32,
    pub(super) state: State,
    /// Backward branches since others had their turn.
    pub(super) loops: u32,
}

impl Fragment {
    /// Whether it has looped for so long that `others` of its warp, or else other warps, go first.
    pub(super) fn is_tired(&self, others: bool) -> bool {
        self.loops >= if others { 64 } else { 4096 }
    }
}

/// One warp of a block.
pub(super) struct Warp {
    pub(super) index: u32,
    /// Lanes that have not exited.
    pub(super) live: u32,
    /// Lanes that stand for a thread.
    pub(super) exists: u32,
    pub(super) fragments: Vec<Fragment>,
    /// Times that all of them had looped for long.
    pub(super) rounds: u32,
    pub(super) regs: Regs,
    /// Local memory, lane after lane.
    pub(super) local: Vec<u8>,
    /// What is known of the local bytes, if that is checked.
    pub(super) local_written: Vec<Byte>,
    /// Registers without a value, if some are known and that is checked.
    pub(super) undefined: Option<Box<Undefined>>,
    /// Lanes that surely go together, if some step asks for them: those that a branch has parted need not meet again before a
    /// collective, though they do here.
    together: Vec<u32>,
    /// Barriers that lanes have gone past since they last came to one.
    skipped: Vec<(u32, u64)>,
    /// Barriers of the whole block that each lane has come to.
    pub(super) arrived: [u32; WARP],
    pub(super) copies: AsyncCopies,
    /// Whether it goes in circles.
    pub(super) circle: Circle,
    /// Index of the region that was accessed last.
    pub(super) hot: usize,
    /// Index of the array in shared memory that was accessed last.
    pub(super) hot_array: usize,
    /// The step that is running, for faults.
    pub(super) pc: u32,
}

impl Warp {
    /// A warp that has not started: `threads` of its lanes stand for threads.
    pub(super) fn new(index: u32, threads: u32, code: &Code) -> Self {
        let exists = if threads >= WARP as u32 { FULL } else { (1 << threads) - 1 };
        Self {
            index,
            live: 0,
            exists,
            fragments: Vec::new(),
            rounds: 0,
            regs: Regs::default(),
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
    pub(super) fn start(&mut self, job: &Job<'_>, block: [u32; 3]) {
        let code = job.code;
        self.live = self.exists;
        self.fragments.clear();
        self.rounds = 0;
        self.fragments.push(Fragment { pc: code.start, mask: self.exists, state: State::Ready, loops: 0 });
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
                code.unassigned().iter().for_each(|&number| undefined.set(number, FULL, FULL));
            }
        }
        let regs = &mut self.regs;
        regs.w32.clear();
        regs.w32.resize(code.words32, Lanes([UNWRITTEN as u32; WARP]));
        regs.w64.clear();
        regs.w64.resize(code.words64, Lanes([UNWRITTEN; WARP]));
        regs.p.clear();
        regs.p.resize(code.predicates, 0);
        if let Some(always) = code.true_predicate {
            regs.p[always as usize] = FULL;
        }
        for &(reg, preset) in &code.presets32 {
            for (lane, word) in regs.w32[reg as usize].0.iter_mut().enumerate() {
                *word = preset_value(preset, job, block, self.index, lane) as u32;
            }
        }
        for &(reg, preset) in &code.presets64 {
            regs.w64[reg as usize].0 = [preset_value(preset, job, block, self.index, 0); WARP];
        }
    }

    /// Lanes go another way than others.
    pub(super) fn part(&mut self, lanes: u32) {
        for index in 0..self.together.len() {
            let group = self.together[index];
            if group & lanes != 0 && group & !lanes != 0 {
                self.together[index] = group & lanes;
                self.together.push(group & !lanes);
            }
        }
    }

    /// Lanes meet at a collective.
    pub(super) fn meet(&mut self, lanes: u32) {
        if self.together.len() > 1 {
            self.together.retain_mut(|group| {
                *group &= !lanes;
                *group != 0
            });
            self.together.push(lanes);
        }
    }

    /// For each lane, those that surely go together with it.
    pub(super) fn groups(&self) -> [u32; WARP] {
        let mut groups = [0; WARP];
        self.together.iter().for_each(|&group| Bits(group).for_each(|lane| groups[lane] = group));
        groups
    }

    /// Lanes `taken` of `mask` take a fork.
    pub(super) fn skip(&mut self, code: &Code, fork: u32, taken: u32, mask: u32) {
        let sides = code.forks[fork as usize].into_iter().zip([taken, mask & !taken]);
        for (barriers, lanes) in sides.filter(|&(barriers, lanes)| barriers != 0 && lanes != 0) {
            match self.skipped.iter_mut().find(|(_, known)| *known == barriers) {
                Some((known, _)) => *known |= lanes,
                None => self.skipped.push((lanes, barriers)),
            }
        }
    }

    /// Lanes come to a barrier of the whole block.
    pub(super) fn arrive(&mut self, mask: u32) {
        Bits(mask).for_each(|lane| self.arrived[lane] += 1);
        self.skipped.iter_mut().for_each(|(lanes, _)| *lanes &= !mask);
    }

    /// A lane that has ended after it went past the barrier number `barrier` of the code, which others have come to as their
    /// barrier number `count`.
    pub(super) fn absentee(&self, barrier: usize, count: u32) -> Option<usize> {
        let ended = self.exists & !self.live;
        let past = self.skipped.iter().filter(|(_, barriers)| barriers >> barrier & 1 == 1);
        let lanes = past.fold(0, |lanes, (more, _)| lanes | more);
        Bits(lanes & ended).find(|&lane| self.arrived[lane] + 1 == count)
    }

    /// Whether every thread has ended.
    pub(super) fn is_done(&self) -> bool {
        self.fragments.is_empty()
    }

    /// Coordinates of a thread within its block.
    pub(super) fn thread(&self, lane: usize, block: [u32; 3]) -> [u32; 3] {
        thread_at(self.index * WARP as u32 + lane as u32, block)
    }
}

/// Coordinates of thread number `linear` of a block.
pub(super) fn thread_at(linear: u32, block: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = block.map(|n| n.max(1));
    [linear % x, linear / x % y, linear / x / y]
}

fn preset_value(preset: Preset, job: &Job<'_>, block: [u32; 3], warp: u32, lane: usize) -> u64 {
    match preset {
        Preset::Const(value) => value,
        Preset::Global(index, offset) => job.globals[index as usize].wrapping_add_signed(offset),
        Preset::Special(special) => special_value(special, job, block, warp, lane as u32).into(),
    }
}

fn component(axis: Axis, vector: [u32; 3]) -> u32 {
    match axis {
        Axis::X => vector[0],
        Axis::Y => vector[1],
        Axis::Z => vector[2],
    }
}

fn special_value(special: Special, job: &Job<'_>, block: [u32; 3], warp: u32, lane: u32) -> u32 {
    let grid = &job.grid;
    let bit = 1_u32 << lane;
    match special {
        Special::Tid(axis) => component(axis, thread_at(warp * WARP as u32 + lane, grid.block)),
        Special::Ntid(axis) => component(axis, grid.block),
        // Without clusters every block is one.
        Special::Ctaid(axis) | Special::Clusterid(axis) => component(axis, block),
        Special::Nctaid(axis) | Special::Nclusterid(axis) => component(axis, grid.grid),
        Special::Laneid => lane,
        Special::Warpid => warp,
        Special::Nwarpid => grid.threads().div_ceil(WARP as u64) as u32,
        Special::LanemaskEq => bit,
        Special::LanemaskLt => bit - 1,
        Special::LanemaskLe => bit | (bit - 1),
        Special::LanemaskGt => !(bit | (bit - 1)),
        Special::LanemaskGe => !(bit - 1),
        Special::DynamicSmemSize => grid.dynamic_shared,
        Special::TotalSmemSize | Special::AggrSmemSize => job.shared_bytes() as u32,
        Special::ClusterNctaid(_) | Special::ClusterNctarank | Special::Nsmid => 1,
        Special::Smid | Special::Gridid | Special::ClusterCtaid(_) | Special::ClusterCtarank => 0,
        Special::IsExplicitCluster | Special::Clock | Special::ClockHi | Special::Clock64 => 0,
        Special::Globaltimer | Special::GlobaltimerLo | Special::GlobaltimerHi => 0,
    }
}
