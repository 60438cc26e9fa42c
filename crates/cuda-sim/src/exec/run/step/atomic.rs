//! Read-modify-writes.
//!
//! On global memory they are atomics of the host, so blocks may run on several threads.

use std::sync::atomic::Ordering::SeqCst;

use super::access::{by_space, check};
use crate::exec::code::{Atomic, AtomicOp, HalfOp};
use crate::exec::fault::{FaultKind, Space};
use crate::exec::lanes::{LaneBits, float::canon, half};
use crate::exec::memory::MemoryRegion;
use crate::exec::run::seen::{AccessedMemory, Seen};
use crate::exec::run::trouble::{StepResult, trouble};
use crate::exec::run::turn::WarpTurn;
use crate::exec::run::warp::Warp;

/// What replaces `old`; `wide` for 64 bits.
fn apply(op: AtomicOp, wide: bool, old: u64, b: u64, c: u64) -> u64 {
    match op {
        AtomicOp::Reduce(op) => op.apply(wide, old, b),
        AtomicOp::Exch => b,
        AtomicOp::Cas if old == b => c,
        AtomicOp::Cas => old,
        AtomicOp::Inc if old >= b => 0,
        AtomicOp::Inc => old + 1,
        AtomicOp::Dec if old == 0 || old > b => b,
        AtomicOp::Dec => old - 1,
        AtomicOp::AddF32 => canon(f32::from_bits(old as u32) + f32::from_bits(b as u32)).into(),
        AtomicOp::AddHalf(kind) => half::arithmetic(HalfOp::Add, kind, old as u32, b as u32, 0).into(),
    }
}

/// Only the low bytes of a word.
fn truncate(value: u64, width: u8) -> u64 {
    if width == 4 { value & 0xffff_ffff } else { value }
}

/// `atom` and `red`, lane after lane.
pub(super) fn atomic(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, atomic: &Atomic, active: u32) -> StepResult {
    let mut addresses = warp.regs.addresses(atomic.target);
    let bytes = u64::from(atomic.width);
    by_space(atomic.window, &mut addresses, active, |space, active, addresses| {
        let memory = check(turn, warp, space, addresses, active, bytes)?;
        if turn.job.checked {
            let (order, access) = (atomic.order, Seen::access(atomic.order, true));
            let memory = &memory;
            let (reads, writes, regs) = (true, true, &[][..]);
            let seen = Seen { space, access, reads, writes, order, active, addresses, bytes, memory, regs };
            turn.observe(warp, seen)?;
        }
        for lane in LaneBits(active) {
            let b = truncate(warp.regs.lane(atomic.b, lane), atomic.width);
            let c = truncate(warp.regs.lane(atomic.c, lane), atomic.width);
            let update = |old: u64| truncate(apply(atomic.op, atomic.width == 8, old, b, c), atomic.width);
            let address = addresses[lane];
            let old = match (&memory, space) {
                (AccessedMemory::Region(region), _) => on_region(turn, region, address, atomic.width, update),
                (AccessedMemory::Regions(each), _) => {
                    on_region(turn, &turn.job.view.regions[each[lane] as usize], address, atomic.width, update)
                }
                (AccessedMemory::Window, Space::Shared) => {
                    let place = &mut turn.core.shared[address as usize..][..bytes as usize];
                    let mut word = [0; 8];
                    word[..bytes as usize].copy_from_slice(place);
                    let old = u64::from_le_bytes(word);
                    place.copy_from_slice(&update(old).to_le_bytes()[..bytes as usize]);
                    old
                }
                (AccessedMemory::Window, _) => {
                    let size = turn.window_size(space);
                    return trouble(lane, FaultKind::Window { space, address, bytes, size });
                }
            };
            turn.changed |= update(old) != old;
            warp.regs.set_lane(atomic.old, lane, old);
        }
        Ok(())
    })
}

fn on_region(
    turn: &WarpTurn<'_, '_>,
    region: &MemoryRegion,
    address: u64,
    width: u8,
    update: impl Fn(u64) -> u64,
) -> u64 {
    if !turn.job.options.checks.uninitialised {
        region.storage.forget_tracking();
    }
    let at = address - region.info.base;
    if width == 8 {
        let word = region.storage.atomic64(at);
        word.fetch_update(SeqCst, SeqCst, |old| Some(update(old))).unwrap_or_else(|old| old)
    } else {
        let word = region.storage.atomic32(at);
        let old = word.fetch_update(SeqCst, SeqCst, |old| Some(update(old.into()) as u32));
        u64::from(old.unwrap_or_else(|old| old))
    }
}
