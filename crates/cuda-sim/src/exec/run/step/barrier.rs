//! Block barriers: how lanes arrive at them, and go on.

use crate::exec::collective::{BarRed, BarrierRole};
use crate::exec::fault::FaultKind;
use crate::exec::lanes::{LaneBits, WARP};
use crate::exec::register::R;
use crate::exec::run::barrier::{BARRIERS, Barrier};
use crate::exec::run::trouble::{StepResult, trouble};
use crate::exec::run::turn::WarpTurn;
use crate::exec::run::warp::{Fragment, FragmentState, Warp};

/// Lanes `mask` of `warp` arrive at a barrier at step `pc`.
pub(super) fn arrive(
    turn: &mut WarpTurn<'_, '_>,
    warp: &mut Warp,
    (id, threads, role): (R, Option<R>, BarrierRole),
    pc: u32,
    mask: u32,
) -> StepResult {
    let lane = mask.trailing_zeros() as usize;
    let id = warp.regs.w32[id as usize].0[lane];
    let refuse =
        |quantity, expected, got: u32| trouble(lane, FaultKind::Barrier { quantity, expected, got: got.into() });
    if id as usize >= BARRIERS {
        return refuse("number", "0 to 15", id);
    }
    let expected = threads.map(|reg| warp.regs.w32[reg as usize].0[lane]);
    if let Some(threads) = expected.filter(|&threads| threads == 0 || threads % WARP as u32 != 0) {
        return refuse("thread count", "a positive multiple of 32", threads);
    }
    let barrier = &mut turn.core.barriers[id as usize];
    if barrier.is_idle() {
        *barrier = Barrier { expected, ..Barrier::default() };
    } else if barrier.expected != expected {
        return refuse("thread count", "the count of the threads that arrived before", expected.unwrap_or(0));
    }
    // A whole warp counts as 32 threads where a count is given, however many lanes are left in it.
    barrier.arrived += if expected.is_some() && mask == warp.live { WARP as u32 } else { mask.count_ones() };
    if let Some(threads) = expected.filter(|&threads| barrier.arrived > threads) {
        let got = barrier.arrived;
        return trouble(
            lane,
            FaultKind::Barrier {
                quantity: "arrivals",
                expected: "no more than the thread count",
                got: got.max(threads).into(),
            },
        );
    }
    if let BarrierRole::Reduce { a, .. } = role {
        let yes = warp.regs.p[a as usize] & mask;
        barrier.votes.0 += yes.count_ones();
        barrier.votes.1 += (mask & !yes).count_ones();
    }
    turn.arrived(warp, id as u8, mask);
    if expected.is_none() {
        warp.arrive(mask);
    }
    let (pc, state) = match role {
        BarrierRole::Arrive => (pc + 1, FragmentState::Ready),
        BarrierRole::Sync | BarrierRole::Reduce { .. } => (pc, FragmentState::AtBarrier(id as u8)),
    };
    warp.fragments.push(Fragment { pc, mask, state, loops: 0 });
    Ok(())
}

/// Releases the threads that wait at barrier `id`, and returns their lanes.
///
/// `role` returns the role of the step at a place.
pub(in crate::exec::run) fn release(
    warp: &mut Warp,
    id: u8,
    barrier: &Barrier,
    role: impl Fn(u32) -> Option<BarrierRole>,
) -> u32 {
    let mut released = 0;
    for fragment in &mut warp.fragments {
        if fragment.state != FragmentState::AtBarrier(id) {
            continue;
        }
        if let Some(BarrierRole::Reduce { op, d, .. }) = role(fragment.pc) {
            let value = barrier.reduced(op);
            if op == BarRed::Popc {
                LaneBits(fragment.mask).for_each(|lane| warp.regs.w32[d as usize].0[lane] = value);
            } else {
                warp.regs.set_predicate(d, fragment.mask, value);
            }
        }
        fragment.pc += 1;
        fragment.state = FragmentState::Ready;
        released |= fragment.mask;
    }
    released
}
