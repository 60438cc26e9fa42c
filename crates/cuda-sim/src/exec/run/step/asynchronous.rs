//! `cp.async`.
//!
//! A copy lands only at the wait that covers it, however early hardware may deliver; until then its
//! destination holds a pattern, so a missing wait fails always and not rarely.

use super::access::{check, check_aligned};
use crate::exec::code::{AsyncCopy, StepOp};
use crate::exec::fault::{Access, Space};
use crate::exec::lanes::{LaneBits, WARP, lanes_where};
use crate::exec::run::check::sources::InFlightSource;
use crate::exec::run::seen::{AccessedMemory, Seen};
use crate::exec::run::trouble::StepResult;
use crate::exec::run::turn::WarpTurn;
use crate::exec::run::warp::{PendingCopy, Warp};

/// Fill byte of the destination of an unfinished copy: NaN in every float format.
const POISON: u8 = 0xff;

/// One step of the asynchronous machinery.
pub(super) fn step(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, op: StepOp, active: u32) -> StepResult {
    match op {
        StepOp::CopyAsync(index) => begin(turn, warp, &turn.job.code.copies[index as usize], active),
        StepOp::CommitGroup => {
            LaneBits(active).for_each(|lane| warp.copies.committed[lane] += 1);
            Ok(())
        }
        StepOp::WaitGroup(left) => land(turn, warp, active, |committed, group| committed - group > left),
        _ => land(turn, warp, active, |_, _| true),
    }
}

fn begin(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, copy: &AsyncCopy, active: u32) -> StepResult {
    let targets = warp.regs.addresses(copy.target);
    let sources = warp.regs.addresses(copy.source);
    let bytes = u64::from(copy.bytes);
    check(turn, warp, Space::Shared, &targets, active, bytes)?;
    let mut data = [[0; 16]; WARP];
    let length = |warp: &Warp, lane: usize| {
        copy.read.map_or(bytes, |reg| u64::from(warp.regs.w32[reg as usize].0[lane]).min(bytes))
    };
    // Lanes that read nothing may carry any source address.
    let mut left = lanes_where(active, |lane| length(warp, lane) > 0);
    while left != 0 {
        let read = length(warp, left.trailing_zeros() as usize);
        let group = lanes_where(left, |lane| length(warp, lane) == read);
        fetch(turn, warp, group, &sources, (read, bytes), &mut data)?;
        left &= !group;
    }
    if turn.job.checked {
        for lane in LaneBits(active) {
            let (start, bytes) = (sources[lane], length(warp, lane));
            let (group, range) = (warp.copies.committed[lane], start..start + bytes);
            if bytes > 0 {
                turn.watch().sources.add(warp.index, InFlightSource { lane, group, range, pc: warp.pc });
            }
        }
        let memory = AccessedMemory::Window;
        let write = Seen::plain(Space::Shared, Access::AsyncWrite, active, &targets, bytes, &memory);
        turn.observe_begun(warp, write)?;
    }
    turn.changed = true;
    for lane in LaneBits(active) {
        let (group, data) = (warp.copies.committed[lane], data[lane]);
        warp.copies.pending.push(PendingCopy { lane, group, target: targets[lane], bytes: copy.bytes, data });
        turn.core.shared[targets[lane] as usize..][..bytes as usize].fill(POISON);
    }
    Ok(())
}

/// Reads `length` bytes of global memory for each lane of `group`.
///
/// The places are aligned to `align`.
fn fetch(
    turn: &mut WarpTurn<'_, '_>,
    warp: &mut Warp,
    group: u32,
    sources: &[u64; WARP],
    (length, align): (u64, u64),
    data: &mut [[u8; 16]; WARP],
) -> StepResult {
    let memory = check_aligned(turn, warp, Space::Global, sources, group, (length, align))?;
    if turn.job.checked {
        let seen = Seen::plain(Space::Global, Access::AsyncRead, group, sources, length, &memory);
        turn.observe(warp, seen)?;
    }
    for lane in LaneBits(group) {
        let region = match &memory {
            AccessedMemory::Region(region) => region,
            AccessedMemory::Regions(each) => &turn.job.view.regions[each[lane] as usize],
            AccessedMemory::Window => continue,
        };
        let at = sources[lane] - region.info.base;
        for (index, byte) in data[lane].iter_mut().enumerate().take(length as usize) {
            *byte = region.storage.byte(at + index as u64);
        }
    }
    Ok(())
}

/// Delivers the copies of active lanes whose group is complete by `done(committed, group)`.
fn land(turn: &mut WarpTurn<'_, '_>, warp: &mut Warp, active: u32, done: impl Fn(u32, u32) -> bool) -> StepResult {
    let mut copies = std::mem::take(&mut warp.copies);
    let mut result = Ok(());
    let committed = copies.committed;
    if turn.job.checked {
        let over =
            |source: &InFlightSource| active >> source.lane & 1 == 1 && done(committed[source.lane], source.group);
        turn.watch().sources.land(warp.index, over);
    }
    copies.pending.retain(|copy| {
        let over = active >> copy.lane & 1 == 1 && done(committed[copy.lane], copy.group);
        if over && result.is_ok() {
            turn.changed = true;
            let bytes = usize::from(copy.bytes);
            turn.core.shared[copy.target as usize..][..bytes].copy_from_slice(&copy.data[..bytes]);
            if turn.job.checked {
                result = turn.observe_landed(warp, copy.lane, copy.target, bytes as u64);
            }
        }
        !over
    });
    warp.copies = copies;
    result
}
