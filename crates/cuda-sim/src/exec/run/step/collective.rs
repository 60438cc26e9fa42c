//! Operations of several lanes at once.
//!
//! Lanes park until every member has arrived at the same step.

use super::{barrier, matrix};
use crate::exec::code::{Code, StepOp};
use crate::exec::collective::{CollectiveKind, CollectiveOp, Members, Shuffle, Vote};
use crate::exec::fault::FaultKind;
use crate::exec::lanes::{FULL, LaneBits, WARP, lanes_where};
use crate::exec::register::R;
use crate::exec::run::trouble::{StepResult, trouble};
use crate::exec::run::turn::WarpTurn;
use crate::exec::run::warp::{Fragment, FragmentState, UNWRITTEN, Warp};

/// Carries out a collective that every live lane has arrived at together.
///
/// False if it has to wait after all.
#[inline(always)]
pub(super) fn at_once(
    turn: &mut WarpTurn<'_, '_>,
    warp: &mut Warp,
    collective: &CollectiveOp,
    lanes: u32,
) -> StepResult<bool> {
    if matches!(collective.kind, CollectiveKind::Barrier { .. }) {
        return Ok(false);
    }
    if let Members::Mask(reg) = collective.members {
        let masks = &warp.regs.w32[reg as usize].0;
        let mask = masks[lanes.trailing_zeros() as usize % WARP];
        if mask & warp.live != lanes || !LaneBits(lanes).all(|lane| masks[lane] == mask) {
            return Ok(false);
        }
    }
    match collective.kind {
        CollectiveKind::Shuffle { mode, d, valid: None, a, lane, clamp }
            if lanes == FULL && warp.undefined.is_none() =>
        {
            warp.meet(lanes);
            shuffle_full(warp, mode, [d, a, lane, clamp]);
        }
        _ => perform(turn, warp, collective, lanes)?,
    }
    Ok(true)
}

/// A shuffle of the whole warp without a predicate: every source takes part.
#[inline(always)]
fn shuffle_full(warp: &mut Warp, mode: Shuffle, [d, a, lane, clamp]: [R; 4]) {
    let regs = &mut warp.regs.w32;
    let (values, sources, clamps) = (regs[a as usize].0, regs[lane as usize].0, regs[clamp as usize].0);
    let mut from = [0; WARP];
    // one loop for each mode, which vectorises
    macro_rules! sources {
        ($($mode:ident)*) => {
            match mode {
                $(Shuffle::$mode => for (lane, from) in from.iter_mut().enumerate() {
                    *from = shuffle_source(Shuffle::$mode, lane as u32, sources[lane], clamps[lane]).0;
                },)*
            }
        };
    }
    sources!(Up Down Butterfly Index);
    for (d, from) in regs[d as usize].0.iter_mut().zip(from) {
        *d = values[from as usize % WARP];
    }
}

/// Parks lanes at a collective, and carries it out if they were the last to arrive.
pub(super) fn park(
    turn: &mut WarpTurn<'_, '_>,
    warp: &mut Warp,
    collective: &CollectiveOp,
    arriving: Fragment,
) -> StepResult {
    let Fragment { pc, mask: lanes, loops, .. } = arriving;
    if let (Members::Arriving, CollectiveKind::Barrier { id, threads, role }) = (collective.members, collective.kind) {
        return barrier::arrive(turn, warp, (id, threads, role), pc, lanes);
    }
    let together = warp.fragments.iter_mut().find(|other| other.pc == pc && other.state == FragmentState::Parked);
    match together {
        Some(other) => (other.mask, other.loops) = (other.mask | lanes, other.loops.max(loops)),
        None => warp.fragments.push(Fragment { state: FragmentState::Parked, ..arriving }),
    }
    settle(turn, warp).map(|_| ())
}

/// Carries out every parked collective whose members are complete. True if there was one.
pub(in crate::exec::run) fn settle(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp) -> StepResult<bool> {
    let mut progress = false;
    let mut index = 0;
    while index < warp.fragments.len() {
        let fragment = warp.fragments[index];
        let complete = if fragment.state == FragmentState::Parked { members(turn, warp, fragment)? } else { 0 };
        if complete == 0 {
            index += 1;
            continue;
        }
        progress = true;
        let left = fragment.mask & !complete;
        if left == 0 {
            warp.fragments.swap_remove(index);
        } else {
            warp.fragments[index].mask = left;
        }
        warp.pc = fragment.pc;
        let Some(collective) = collective_at(turn.job.code, fragment.pc) else { continue };
        if let CollectiveKind::Barrier { id, threads, role } = collective.kind {
            warp.meet(complete);
            barrier::arrive(turn, warp, (id, threads, role), fragment.pc, complete)?;
        } else {
            perform(turn, warp, &collective, complete)?;
            let (pc, mask) = (fragment.pc + 1, complete);
            warp.fragments.push(Fragment { pc, mask, state: FragmentState::Ready, ..fragment });
        }
    }
    Ok(progress)
}

/// The collective of a step.
fn collective_at(code: &Code, pc: u32) -> Option<CollectiveOp> {
    match code.steps[pc as usize].op {
        StepOp::Collective(index) => Some(code.collectives[index as usize]),
        _ => None,
    }
}

/// Lanes of a parked fragment that wait for no other lane; 0 if there are none.
fn members(turn: &WarpTurn<'_, '_>, warp: &mut Warp, fragment: Fragment) -> StepResult<u32> {
    let Some(collective) = collective_at(turn.job.code, fragment.pc) else { return Ok(0) };
    let Members::Mask(reg) = collective.members else {
        return Ok(if fragment.mask == warp.live { fragment.mask } else { 0 });
    };
    let masks = &warp.regs.w32[reg as usize].0;
    for lane in LaneBits(fragment.mask) {
        let members = masks[lane];
        if members >> lane & 1 == 0 {
            warp.pc = fragment.pc;
            let elsewhere = format!("lane {lane} is not in its own mask");
            let (present, exited) = (fragment.mask, !warp.live);
            return trouble(lane, FaultKind::DivergentCollective { members, present, exited, elsewhere });
        }
        // Who has exited takes no part.
        let alive = members & warp.live;
        if alive & !fragment.mask == 0 && LaneBits(alive).all(|other| masks[other] == members) {
            return Ok(alive);
        }
    }
    Ok(0)
}

/// The mask that a parked lane waits for.
pub(in crate::exec::run) fn awaited(code: &Code, warp: &Warp, fragment: Fragment) -> u32 {
    match collective_at(code, fragment.pc).map(|collective| collective.members) {
        Some(Members::Mask(reg)) => warp.regs.w32[reg as usize].0[fragment.mask.trailing_zeros() as usize],
        _ => warp.live,
    }
}

/// Carries out a collective for the lanes of one group.
fn perform(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, collective: &CollectiveOp, lanes: u32) -> StepResult {
    warp.meet(lanes);
    let mut from_lane = [0; WARP];
    let regs = &mut warp.regs;
    match collective.kind {
        CollectiveKind::Barrier { .. } => {}
        CollectiveKind::WarpBarrier => turn.warp_barrier(warp, lanes),
        CollectiveKind::Shuffle { mode, d, valid, a, lane: source, clamp } => {
            let values = regs.w32[a as usize].0;
            let (sources, clamps) = (regs.w32[source as usize].0, regs.w32[clamp as usize].0);
            let (mut in_range, mut missing) = (0, 0);
            for lane in LaneBits(lanes) {
                let (from, valid) = shuffle_source(mode, lane as u32, sources[lane], clamps[lane]);
                in_range |= u32::from(valid) << lane;
                from_lane[lane] = from as u8;
                // A lane that takes no part gives nothing that is defined.
                let takes_part = lanes >> from & 1 == 1;
                missing |= u32::from(!takes_part) << lane;
                regs.w32[d as usize].0[lane] = if takes_part { values[from as usize] } else { UNWRITTEN as u32 };
            }
            if let Some(valid) = valid {
                regs.set_predicate(valid, lanes, in_range);
            }
            if missing != 0 && turn.job.options.checks.uninitialised {
                warp.undefined_registers(turn.job.code);
            }
        }
        CollectiveKind::Vote { vote, d, a } => {
            let yes = regs.p[a as usize] & lanes;
            let flag = |value: bool| if value { u32::MAX } else { 0 };
            match vote {
                Vote::Ballot => LaneBits(lanes).for_each(|lane| regs.w32[d as usize].0[lane] = yes),
                Vote::All => regs.set_predicate(d, lanes, flag(yes == lanes)),
                Vote::Any => regs.set_predicate(d, lanes, flag(yes != 0)),
                Vote::Uniform => regs.set_predicate(d, lanes, flag(yes == lanes || yes == 0)),
            }
        }
        CollectiveKind::Match { all, wide, d, valid, a } => {
            let value = |lane: usize| {
                if wide { regs.w64[a as usize].0[lane] } else { regs.w32[a as usize].0[lane].into() }
            };
            let mut masks = [0_u32; 32];
            LaneBits(lanes).for_each(|lane| masks[lane] = lanes_where(lanes, |other| value(other) == value(lane)));
            let agree = LaneBits(lanes).all(|lane| masks[lane] == lanes);
            for lane in LaneBits(lanes) {
                let mask = if all && !agree { 0 } else { masks[lane] };
                regs.w32[d as usize].0[lane] = mask;
            }
            if let Some(valid) = valid {
                regs.set_predicate(valid, lanes, if agree { u32::MAX } else { 0 });
            }
        }
        CollectiveKind::Redux { op, d, a } => {
            let values = regs.w32[a as usize].0;
            let words = LaneBits(lanes).map(|lane| u64::from(values[lane]));
            let result = words.reduce(|x, y| op.apply(false, x, y)).unwrap_or_default() as u32;
            LaneBits(lanes).for_each(|lane| regs.w32[d as usize].0[lane] = result);
        }
        CollectiveKind::LoadMatrix { transposed, count, d, target } => {
            matrix::load(turn, warp, (transposed, count), d, target, lanes)?;
        }
        CollectiveKind::Mma { shape, d, a, b, c } => matrix::multiply(warp, shape, d, a, b, c, lanes)?,
    }
    warp.collect(turn.job.code, collective, lanes, &from_lane);
    Ok(())
}

/// The lane a shuffle reads, and whether that was in range; out of range a lane reads itself.
///
/// `clamp` holds the last lane in its low five bits and the segment mask in bits 8 to 12.
#[inline(always)]
fn shuffle_source(mode: Shuffle, lane: u32, source: u32, clamp: u32) -> (u32, bool) {
    let (source, last, segment) = (source & 31, clamp & 31, clamp >> 8 & 31);
    let max_lane = lane & segment | last & !segment;
    let min_lane = lane & segment;
    let (from, valid) = match mode {
        Shuffle::Up => (lane.wrapping_sub(source), lane.wrapping_sub(source) as i32 >= max_lane as i32),
        Shuffle::Down => (lane + source, lane + source <= max_lane),
        Shuffle::Butterfly => (lane ^ source, lane ^ source <= max_lane),
        Shuffle::Index => {
            let from = min_lane | source & !segment;
            (from, from <= max_lane)
        }
    };
    if valid { (from, true) } else { (lane, false) }
}
