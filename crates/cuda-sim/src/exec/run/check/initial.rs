//! Reads of bytes that nothing wrote.

use std::ops::Range;

use crate::exec::fault::{FaultKind, Space};
use crate::exec::lanes::LaneBits;
use crate::exec::register::FileRegister;
use crate::exec::run::job::LaunchJob;
use crate::exec::run::seen::{AccessedMemory, Seen};
use crate::exec::run::trouble::{StepResult, trouble};
use crate::exec::run::warp::Warp;
use crate::exec::run::written::{Byte, WrittenBytes, first_gap};

/// Reports reads of bytes that were never written, and marks writes.
///
/// `shared` is the state of the block's shared memory.
#[inline]
pub(in crate::exec::run) fn check(
    job: &LaunchJob<'_>,
    mut shared: Option<&mut WrittenBytes>,
    warp: &mut Warp,
    seen: &Seen<'_>,
    range: Option<&Range<u64>>,
) -> StepResult {
    let code = job.code;
    let undefined = match &warp.undefined {
        Some(undefined) if seen.writes => undefined.of_slots(code, seen.regs) & seen.active,
        _ => 0,
    };
    if undefined != 0 && seen.space == Space::Global {
        let used_as = "stored to global memory";
        return trouble(undefined.trailing_zeros() as usize, FaultKind::Undefined { used_as });
    }
    if undefined == 0 && range.is_some_and(|range| check_range(shared.as_deref_mut(), seen, range)) {
        return Ok(());
    }
    let stride = code.local;
    for lane in LaneBits(seen.active) {
        let address = seen.addresses[lane];
        let window = address as usize..(address + seen.bytes) as usize;
        let bytes = match seen.space {
            Space::Global => {
                if let Some(address) = check_global(job, lane, seen) {
                    return trouble(lane, FaultKind::Uninitialised { space: Space::Global, address });
                }
                continue;
            }
            Space::Local => {
                let start = (lane as u64 * stride) as usize;
                &mut warp.local_written[start + window.start..start + window.end]
            }
            Space::Shared => match shared.as_deref_mut() {
                Some(written) if seen.reads && written.is_written(window.clone()) => continue,
                Some(written) => &mut written.0[window],
                None => continue,
            },
            Space::Param => continue,
        };
        if seen.reads {
            if let Some(gap) = first_gap(bytes) {
                let (space, address) = (seen.space, address + gap as u64);
                return trouble(lane, FaultKind::Uninitialised { space, address });
            }
            if bytes.contains(&Byte::Undefined) {
                if seen.regs.is_empty() {
                    return trouble(lane, FaultKind::Undefined { used_as: "read where it is relied upon" });
                }
                let (loaded, lanes) = (seen.regs.iter().filter_map(|&slot| FileRegister::of(slot)), 1 << lane);
                let undefined = warp.undefined_registers(code);
                loaded.for_each(|register| undefined.set_register(code, register, lanes, lanes));
            }
        } else {
            bytes.fill(if undefined >> lane & 1 == 1 { Byte::Undefined } else { Byte::Written });
        }
    }
    Ok(())
}

/// Checks and marks the access of a lane to global memory.
///
/// Returns the first byte that was not written, if the lane reads one.
fn check_global(job: &LaunchJob<'_>, lane: usize, seen: &Seen<'_>) -> Option<u64> {
    let region = match seen.memory {
        AccessedMemory::Region(region) => *region,
        AccessedMemory::Regions(each) => &job.view.regions[each[lane] as usize],
        AccessedMemory::Window => return None,
    };
    let (base, address) = (region.info.base, seen.addresses[lane]);
    let gap = if seen.reads { region.storage.first_unwritten(address - base, seen.bytes) } else { None };
    if seen.writes {
        region.storage.mark(address - base, seen.bytes, true);
    }
    gap.map(|at| at + base)
}

/// Checks and marks an access as a whole.
///
/// False if it was not, or some byte is not simply written.
fn check_range(shared: Option<&mut WrittenBytes>, seen: &Seen<'_>, range: &Range<u64>) -> bool {
    match seen.memory {
        AccessedMemory::Region(region) => {
            let (start, bytes) = (range.start - region.info.base, range.end - range.start);
            if seen.reads && region.storage.first_unwritten(start, bytes).is_some() {
                return false;
            }
            if seen.writes {
                region.storage.mark(start, bytes, true);
            }
        }
        AccessedMemory::Window => {
            let range = range.start as usize..range.end as usize;
            let Some(written) = shared else { return true };
            if seen.reads && !written.is_written(range.clone()) {
                return false;
            }
            if seen.writes {
                written.mark(range);
            }
        }
        AccessedMemory::Regions(_) => return false,
    }
    true
}
