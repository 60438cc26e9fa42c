//! One block: its warps, its shared memory, and whose turn it is.

use super::barrier::BARRIERS;
use super::check::watch::BlockWatch;
use super::executor::Executor;
use super::job::{LaunchJob, LocatedFault};
use super::step::{self, Stop, awaited, release, settle};
use super::trouble::StepResult;
use super::turn::{Core, WarpTurn};
use super::warp::{Fragment, FragmentState, Warp};
use crate::exec::code::StepOp;
use crate::exec::collective::CollectiveKind;
use crate::exec::counters::Counters;
use crate::exec::fault::FaultKind;
use crate::exec::lanes::WARP;
use crate::exec::options::Schedule;

/// Steps after which a warp yields in the natural order.
///
/// The watchdog is then checked.
const TURN: u64 = 1 << 16;
/// Rounds that all fragments of a warp may loop for long before other warps run.
const ROUNDS: u32 = 64;
/// Longest turn of a seeded schedule, in steps.
const SEEDED_TURN: u64 = 256;

/// A running block.
pub(super) struct ThreadBlock {
    pub(super) core: Core,
    pub(super) warps: Vec<Warp>,
}

/// How a block's round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoundEnd {
    Done,
    /// It can go on, but others should have a turn.
    Yield,
}

/// How a warp's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnEnd {
    /// It waits or is done.
    Blocked,
    /// It has looped for long.
    Tired,
    /// Its turn is over.
    Fuel,
}

impl ThreadBlock {
    /// A block with room for one of `job`'s blocks.
    pub(super) fn new(job: &LaunchJob<'_>) -> Self {
        let threads = job.grid.threads() as u32;
        let warps =
            (0..threads.div_ceil(WARP as u32)).map(|index| Warp::new(index, threads - index * WARP as u32, job.code));
        let shared = vec![0; job.shared_span() as usize];
        let core = Core { index: [0; 3], shared, live_threads: 0, barriers: Default::default(), watch: None };
        Self { core, warps: warps.collect() }
    }

    /// Readies it for block number `linear`.
    pub(super) fn start(&mut self, job: &LaunchJob<'_>, linear: u64) {
        self.core.index = job.block_at(linear);
        self.core.shared.fill(0xa5);
        self.core.live_threads = job.grid.threads() as u32;
        self.core.barriers = Default::default();
        self.core.watch = job.checked.then(|| Box::new(BlockWatch::new(job, linear)));
        for warp in &mut self.warps {
            warp.start(job, self.core.index);
        }
    }

    /// Gives every warp that can run its turns, until all wait or one has looped for long.
    pub(super) fn round(&mut self, executor: &mut Executor<'_, '_>) -> Result<RoundEnd, LocatedFault> {
        loop {
            let mut tired = false;
            for turn in 0..self.warps.len() {
                let index = match executor.job.options.schedule {
                    Schedule::Natural => turn,
                    Schedule::Reverse => self.warps.len() - 1 - turn,
                    Schedule::Seeded(_) => executor.random(self.warps.len() as u64) as usize,
                };
                loop {
                    let ended = self.turn(executor, index)?;
                    self.complete_barriers(executor)?;
                    tired |= ended == TurnEnd::Tired;
                    let seeded = matches!(executor.job.options.schedule, Schedule::Seeded(_));
                    if ended != TurnEnd::Fuel || seeded {
                        break;
                    }
                }
            }
            if self.warps.iter().all(Warp::is_done) {
                return Ok(RoundEnd::Done);
            }
            // Turns carry out complete collectives of their warps, and complete barriers are released after each turn:
            // without a warp that can run, nothing changes any more.
            let runnable = self.warps.iter().any(|warp| warp.fragments.iter().any(|f| f.state == FragmentState::Ready));
            if !runnable {
                return Err(self.stuck(executor));
            }
            if tired || matches!(executor.job.options.schedule, Schedule::Seeded(_)) {
                return Ok(RoundEnd::Yield);
            }
        }
    }

    /// Gives one warp a turn.
    fn turn(&mut self, executor: &mut Executor<'_, '_>, index: usize) -> Result<TurnEnd, LocatedFault> {
        let job = executor.job;
        let fuel = match job.options.schedule {
            Schedule::Seeded(_) => 1 + executor.random(SEEDED_TURN),
            Schedule::Natural | Schedule::Reverse => TURN,
        };
        let clock_base = executor.counters.warp_instructions + fuel;
        let shadow = executor.shadow.take();
        let Counters { traffic, touched, .. } = &mut executor.counters;
        let core = &mut self.core;
        let mut turn = WarpTurn { job, core, fuel, lanes: 0, changed: false, shadow, traffic, touched, clock_base };
        let warp = &mut self.warps[index];
        let ended = run_warp(&mut turn, warp);
        let (used, lanes, changed) = (fuel - turn.fuel, turn.lanes, turn.changed);
        executor.shadow = turn.shadow;
        executor.progress.note(used, changed);
        if matches!(ended, Ok(TurnEnd::Tired)) {
            executor.progress.look(warp);
        }
        executor.counters.warp_instructions += used;
        executor.counters.lane_instructions += lanes;
        match ended {
            Ok(ended) if executor.spend(used) => Ok(ended),
            Ok(_) => Err(self.timed_out(executor, index)),
            Err(fault) => {
                let warp = &self.warps[index];
                let thread = warp.thread(fault.lane, job.grid.block);
                let failure = executor.failure(fault.kind, warp.pc, self.core.index, thread);
                Err(LocatedFault { earlier: fault.earlier, ..failure })
            }
        }
    }

    /// Releases the warps at barriers that are complete.
    fn complete_barriers(&mut self, executor: &mut Executor<'_, '_>) -> Result<(), LocatedFault> {
        let code = executor.job.code;
        let role = |pc: u32| match code.steps[pc as usize].op {
            StepOp::Collective(index) => match code.collectives[index as usize].kind {
                CollectiveKind::Barrier { role, .. } => Some(role),
                _ => None,
            },
            _ => None,
        };
        for id in 0..BARRIERS {
            if !self.core.barriers[id].is_complete(self.core.live_threads) {
                continue;
            }
            if u64::from(self.core.live_threads) < executor.job.grid.threads() {
                self.all_came(executor, id as u8)?;
            }
            let barrier = std::mem::take(&mut self.core.barriers[id]);
            let mut waited = Vec::new();
            for warp in &mut self.warps {
                let lanes = release(warp, id as u8, &barrier, role);
                if lanes != 0 {
                    waited.push((warp.index as usize, lanes, warp.live));
                }
            }
            if let Some(watch) = &mut self.core.watch {
                watch.clocks.leave(id, &waited);
            }
            executor.counters.barriers += 1;
            executor.progress.note(0, true);
        }
        Ok(())
    }

    /// Whether a thread that has ended went past the barrier `id` that the others wait at.
    fn all_came(&self, executor: &Executor<'_, '_>, id: u8) -> Result<(), LocatedFault> {
        let job = executor.job;
        for warp in &self.warps {
            for fragment in warp.fragments.iter().filter(|fragment| fragment.state == FragmentState::AtBarrier(id)) {
                let Some(barrier) = job.code.barriers.iter().position(|&pc| pc == fragment.pc) else { continue };
                let lane = fragment.mask.trailing_zeros() as usize;
                let absentee = |other: &Warp| {
                    let absent = other.absentee(barrier, warp.arrived[lane])?;
                    Some(other.thread(absent, job.grid.block))
                };
                if let Some(thread) = self.warps.iter().find_map(absentee) {
                    let waiting = warp.thread(lane, job.grid.block);
                    let kind = FaultKind::SkippedBarrier { thread };
                    return Err(executor.failure(kind, fragment.pc, self.core.index, waiting));
                }
            }
        }
        Ok(())
    }

    /// Why no warp can run: a collective that waits in vain, or a barrier.
    fn stuck(&mut self, executor: &mut Executor<'_, '_>) -> LocatedFault {
        let job = executor.job;
        let place = |pc: u32| format!("PTX line {}", job.line(pc));
        let block = job.grid.block;
        for index in 0..self.warps.len() {
            let warp = &self.warps[index];
            let Some(&parked) = warp.fragments.iter().find(|f| f.state == FragmentState::Parked) else { continue };
            let others = warp.fragments.iter().filter(|other| other.pc != parked.pc);
            let others = others.map(|other| format!("{:08x} at {}", other.mask, place(other.pc)));
            let others: Vec<String> = others.collect();
            let elsewhere = if others.is_empty() { "no other lane is left".to_owned() } else { others.join(", ") };
            let (pc, lane, exited, present) = (parked.pc, parked.mask.trailing_zeros(), !warp.live, parked.mask);
            let thread = warp.thread(lane as usize, block);
            let members = awaited(job.code, warp, parked);
            let kind = FaultKind::DivergentCollective { members, present, exited, elsewhere };
            return executor.failure(kind, pc, self.core.index, thread);
        }
        let mut waiting = Vec::new();
        let mut first = None;
        for warp in &self.warps {
            for fragment in &warp.fragments {
                let FragmentState::AtBarrier(id) = fragment.state else { continue };
                first.get_or_insert((fragment.pc, warp.thread(fragment.mask.trailing_zeros() as usize, block)));
                let barrier = self.core.barriers[id as usize].describe(self.core.live_threads);
                waiting.push(format!(
                    "warp {} lanes {:08x} at barrier {id} ({barrier}), {}",
                    warp.index,
                    fragment.mask,
                    place(fragment.pc)
                ));
            }
        }
        let (pc, thread) = first.unwrap_or_default();
        executor.failure(FaultKind::BarrierDeadlock { waiting: waiting.join("; ") }, pc, self.core.index, thread)
    }

    /// The launch has come to its limit, or hangs.
    pub(super) fn timed_out(&self, executor: &Executor<'_, '_>, index: usize) -> LocatedFault {
        let code = executor.job.code;
        let mut fragments = Vec::new();
        for warp in &self.warps {
            for fragment in &warp.fragments {
                let line = executor.job.line(fragment.pc);
                let (mask, state) = (fragment.mask, fragment.state);
                fragments.push(format!("warp {} lanes {mask:08x} line {line} {state:?}", warp.index));
            }
        }
        let warp = &self.warps[index];
        let first = warp.fragments.iter().find(|fragment| fragment.state == FragmentState::Ready);
        let (pc, mask) = first.or(warp.fragments.first()).map_or((code.start, 1), |f| (f.pc, f.mask));
        let thread = warp.thread(mask.trailing_zeros() as usize, executor.job.grid.block);
        executor.failure(FaultKind::Timeout { fragments: fragments.join("; ") }, pc, self.core.index, thread)
    }
}

/// Runs a warp until it waits, is done, has looped for long or is out of fuel.
fn run_warp(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp) -> StepResult<TurnEnd> {
    loop {
        merge(warp);
        let others = warp.fragments.len() > 1;
        let ready = warp.fragments.iter().enumerate().filter(|(_, f)| f.state == FragmentState::Ready);
        let Some((index, fragment)) = ready.min_by_key(|(_, f)| (f.is_tired(others), f.pc)) else {
            if settle(turn, warp)? {
                continue;
            }
            return Ok(TurnEnd::Blocked);
        };
        if fragment.is_tired(others) {
            // Everyone has looped for long: start over, and now and then after the other warps.
            warp.fragments.iter_mut().for_each(|fragment| fragment.loops = 0);
            warp.rounds += 1;
            if others && !warp.rounds.is_multiple_of(ROUNDS) {
                continue;
            }
            return Ok(TurnEnd::Tired);
        }
        if step::run(turn, warp, index)? == Stop::Fuel {
            return Ok(TurnEnd::Fuel);
        }
    }
}

/// Joins fragments that stand at the same step and can run.
fn merge(warp: &mut Warp) {
    let mut index = 0;
    while index < warp.fragments.len() {
        let fragment = warp.fragments[index];
        let twin = |other: &Fragment| {
            other.state == FragmentState::Ready && fragment.state == FragmentState::Ready && other.pc == fragment.pc
        };
        if let Some(first) = warp.fragments[..index].iter().position(twin) {
            warp.fragments[first].mask |= fragment.mask;
            warp.fragments[first].loops = warp.fragments[first].loops.max(fragment.loops);
            warp.fragments.swap_remove(index);
        } else {
            index += 1;
        }
    }
}
