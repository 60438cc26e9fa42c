//! Reads of bytes that nothing wrote.

use std::ops::Range;

use super::super::super::fault::{FaultKind, Space};
use super::super::super::lanes::Bits;
use super::super::access::Memory;
use super::super::block::Turn;
use super::super::warp::Warp;
use super::super::{Outcome, trouble};
use super::Seen;

/// Which bytes of a block's shared memory were written.
pub(in crate::exec::run) struct WrittenBytes(Vec<bool>);

impl WrittenBytes {
    pub(in crate::exec::run) fn new(bytes: usize) -> Self {
        Self(vec![false; bytes])
    }

    pub(super) fn mark(&mut self, range: Range<usize>) {
        self.0[range].fill(true);
    }

    fn first_gap(&self, range: Range<usize>) -> Option<u64> {
        let start = range.start;
        // Most reads have no gap, which is found without a branch per byte.
        if self.0[range.clone()].iter().fold(true, |all, &written| all & written) {
            return None;
        }
        self.0[range].iter().position(|&written| !written).map(|index| (start + index) as u64)
    }
}

/// A read of bytes that nothing wrote is a fault; writes leave their mark.
pub(super) fn check(turn: &mut Turn<'_, '_>, warp: &mut Warp, seen: &Seen<'_>, range: Option<&Range<u64>>) -> Outcome {
    if range.is_some_and(|range| check_range(turn, seen, range)) {
        return Ok(());
    }
    let stride = turn.job.code.local;
    for lane in Bits(seen.active) {
        let address = seen.addresses[lane];
        let region = match seen.memory {
            Memory::Region(region) => Some(*region),
            Memory::Regions(each) => Some(&turn.job.view.regions[each[lane] as usize]),
            Memory::Window => None,
        };
        let gap = match (seen.space, region) {
            (Space::Global, Some(region)) => {
                let base = region.info.base;
                let gap = if seen.reads { region.storage.first_unwritten(address - base, seen.bytes) } else { None };
                if seen.writes {
                    region.storage.mark(address - base, seen.bytes, true);
                }
                gap.map(|at| at + base)
            }
            (Space::Local, _) => {
                let start = (lane as u64 * stride + address) as usize;
                let written = &mut warp.local_written[start..][..seen.bytes as usize];
                let gap = if seen.reads { written.iter().position(|&written| !written) } else { None };
                if seen.writes {
                    written.fill(true);
                }
                gap.map(|index| address + index as u64)
            }
            (Space::Shared, _) => {
                let range = address as usize..(address + seen.bytes) as usize;
                let Some(written) = &mut turn.watch().written else { continue };
                let gap = if seen.reads { written.first_gap(range.clone()) } else { None };
                if seen.writes {
                    written.mark(range);
                }
                gap
            }
            _ => None,
        };
        if let Some(address) = gap {
            return trouble(lane, FaultKind::Uninitialised { space: seen.space, address });
        }
    }
    Ok(())
}

/// Checks and marks an access as a whole. False if it was not, or some byte is missing.
fn check_range(turn: &mut Turn<'_, '_>, seen: &Seen<'_>, range: &Range<u64>) -> bool {
    match seen.memory {
        Memory::Region(region) => {
            let (start, bytes) = (range.start - region.info.base, range.end - range.start);
            if seen.reads && region.storage.first_unwritten(start, bytes).is_some() {
                return false;
            }
            if seen.writes {
                region.storage.mark(start, bytes, true);
            }
        }
        Memory::Window => {
            let range = range.start as usize..range.end as usize;
            let Some(written) = &mut turn.watch().written else { return true };
            if seen.reads && written.first_gap(range.clone()).is_some() {
                return false;
            }
            if seen.writes {
                written.mark(range);
            }
        }
        Memory::Regions(_) => return false,
    }
    true
}
