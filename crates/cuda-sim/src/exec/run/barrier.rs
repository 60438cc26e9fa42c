//! Block barriers.

use super::super::code::R;
use super::super::collective::{BarRed, Role};
use super::super::fault::FaultKind;
use super::super::lanes::{Bits, WARP};
use super::block::Turn;
use super::warp::{Fragment, State, Warp};
use super::{Outcome, trouble};

/// Named barriers of a block.
pub(super) const BARRIERS: usize = 16;

/// One named barrier, while some threads have arrived and others have not.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    /// Threads that must arrive; absent for every thread of the block that has not exited.
    expected: Option<u32>,
    arrived: u32,
    /// Threads whose predicate was true, and false.
    votes: (u32, u32),
}

impl Barrier {
    fn is_idle(&self) -> bool {
        self.arrived == 0
    }

    /// Whether every expected thread has arrived.
    pub(super) fn is_complete(&self, live_threads: u32) -> bool {
        !self.is_idle() && self.arrived >= self.expected.unwrap_or(live_threads)
    }

    /// What a reduction gives: a count, or all ones or zeros.
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

/// Lanes `mask` of `warp` arrive at a barrier at step `pc`.
pub(super) fn arrive(
    turn: &mut Turn<'_, '_>,
    warp: &mut Warp,
    (id, threads, role): (R, Option<R>, Role),
    pc: u32,
    mask: u32,
) -> Outcome {
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
    if let Role::Reduce { a, .. } = role {
        let yes = warp.regs.p[a as usize] & mask;
        barrier.votes.0 += yes.count_ones();
        barrier.votes.1 += (mask & !yes).count_ones();
    }
    turn.arrived(warp, id as u8, mask);
    if expected.is_none() {
        warp.arrive(mask);
    }
    let (pc, state) = match role {
        Role::Arrive => (pc + 1, State::Ready),
        Role::Sync | Role::Reduce { .. } => (pc, State::AtBarrier(id as u8)),
    };
    warp.fragments.push(Fragment { pc, mask, state, loops: 0 });
    Ok(())
}

/// Lets the threads that wait at barrier `id` go on; `role` tells what the step at a place asks for. Returns their lanes.
pub(super) fn release(warp: &mut Warp, id: u8, barrier: &Barrier, role: impl Fn(u32) -> Option<Role>) -> u32 {
    let mut released = 0;
    for fragment in &mut warp.fragments {
        if fragment.state != State::AtBarrier(id) {
            continue;
        }
        if let Some(Role::Reduce { op, d, .. }) = role(fragment.pc) {
            let value = barrier.reduced(op);
            if op == BarRed::Popc {
                Bits(fragment.mask).for_each(|lane| warp.regs.w32[d as usize].0[lane] = value);
            } else {
                warp.regs.set_predicate(d, fragment.mask, value);
            }
        }
        fragment.pc += 1;
        fragment.state = State::Ready;
        released |= fragment.mask;
    }
    released
}
