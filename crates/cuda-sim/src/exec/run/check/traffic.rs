//! Counters of the layout of accesses.
//!
//! They count sectors of global memory and bank cycles of shared memory.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::exec::counters::Traffic;
use crate::exec::fault::Space;
use crate::exec::lanes::{LaneBits, WARP};
use crate::exec::run::seen::Seen;

/// Bytes of global memory that travel together.
const SECTOR: u64 = 32;
/// Banks of shared memory, each a word wide.
const BANKS: usize = 32;
const WORD: u64 = 4;

/// Adds an access, all of whose bytes may be one range, to the counters of its PTX line.
#[inline]
pub(in crate::exec::run) fn count(
    lines: &mut BTreeMap<u32, Traffic>,
    line: u32,
    seen: &Seen<'_>,
    range: Option<&Range<u64>>,
) {
    let mut traffic = Traffic::default();
    match seen.space {
        Space::Global => {
            traffic.global_requests = 1;
            traffic.global_sectors = match range {
                Some(range) => (range.end - 1) / SECTOR - range.start / SECTOR + 1,
                None => sectors(seen),
            };
        }
        Space::Shared => {
            traffic.shared_requests = 1;
            // Wide accesses are served in parts of 128 bytes.
            let lanes_at_once = (WARP as u64 * WORD / seen.bytes.max(WORD)) as usize;
            for first in (0..WARP).step_by(lanes_at_once) {
                let part = seen.active & (((1_u64 << lanes_at_once) - 1) << first) as u32;
                // The words of one range lie in different banks.
                let cycles = if range.is_some() { u32::from(part != 0) } else { bank_cycles(seen, part) };
                traffic.shared_wavefronts += u64::from(cycles);
                traffic.shared_ideal += u64::from(cycles > 0);
                traffic.conflict_degree = traffic.conflict_degree.max(cycles);
            }
        }
        Space::Local | Space::Param => return,
    }
    *lines.entry(line).or_default() += traffic;
}

fn sectors(seen: &Seen<'_>) -> u64 {
    let mut touched = [0; 2 * WARP];
    let mut len = 0;
    for lane in LaneBits(seen.active) {
        let start = seen.addresses[lane];
        for sector in [start / SECTOR, (start + seen.bytes - 1) / SECTOR] {
            touched[len] = sector;
            len += 1;
        }
    }
    let touched = &mut touched[..len];
    touched.sort_unstable();
    touched.chunk_by(|a, b| a == b).count() as u64
}

/// Most distinct words that one bank has to serve to `lanes`.
fn bank_cycles(seen: &Seen<'_>, lanes: u32) -> u32 {
    let words = |lane: usize| {
        let first = seen.addresses[lane] / WORD;
        first..=(seen.addresses[lane] + seen.bytes - 1) / WORD
    };
    let bank = |word: u64| (word % BANKS as u64) as usize;
    // The first word of each bank; most accesses have no other.
    let mut firsts = [u64::MAX; BANKS];
    let mut others = [0; WARP];
    let mut len = 0;
    for word in LaneBits(lanes).flat_map(words) {
        let first = &mut firsts[bank(word)];
        if *first == u64::MAX {
            *first = word;
        } else if *first != word && len < others.len() && !others[..len].contains(&word) {
            others[len] = word;
            len += 1;
        }
    }
    let mut cycles = firsts.map(|first| u32::from(first != u64::MAX));
    for &word in &others[..len] {
        cycles[bank(word)] += 1;
    }
    cycles.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::exec::fault::Access;
    use crate::exec::run::seen::AccessedMemory;

    /// The bytes of the lanes of a mask.
    fn bytes(seen: &Seen<'_>, lanes: u32) -> Vec<u64> {
        LaneBits(lanes).flat_map(|lane| seen.addresses[lane]..seen.addresses[lane] + seen.bytes).collect()
    }

    /// The counters by their definitions.
    fn expected(seen: &Seen<'_>) -> Traffic {
        if seen.space == Space::Global {
            let sectors: BTreeSet<u64> = bytes(seen, seen.active).iter().map(|byte| byte / 32).collect();
            return Traffic { global_requests: 1, global_sectors: sectors.len() as u64, ..Traffic::default() };
        }
        let at_once = 128 / seen.bytes.max(4) as usize;
        let parts = (0..32 / at_once).map(|part| (0..at_once).map(|lane| 1 << (part * at_once + lane)).sum::<u32>());
        let cycles: Vec<u32> = parts
            .map(|part| {
                let words: BTreeSet<u64> = bytes(seen, part & seen.active).iter().map(|byte| byte / 4).collect();
                (0..32).map(|bank| words.iter().filter(|&word| word % 32 == bank).count() as u32).max().unwrap()
            })
            .collect();
        Traffic {
            shared_requests: 1,
            shared_wavefronts: cycles.iter().map(|&cycles| u64::from(cycles)).sum(),
            shared_ideal: cycles.iter().filter(|&&cycles| cycles > 0).count() as u64,
            conflict_degree: *cycles.iter().max().unwrap(),
            ..Traffic::default()
        }
    }

    #[test]
    fn counters_are_those_of_the_sectors_and_banks_of_every_byte() {
        let mut rng = fastrand::Rng::with_seed(1);
        for case in 0..1500 {
            let (width, base) = (1 << rng.u64(..5), rng.u64(1..64));
            let stride = [0, 1, 1, 1, 2, 3, 8, 32][rng.usize(..8)];
            let is_apart = rng.u32(..4) == 0;
            let addresses: [u64; WARP] = std::array::from_fn(|lane| {
                (if is_apart { rng.u64(..256) } else { base + stride * lane as u64 }) * width
            });
            let active =
                [u32::MAX, u32::MAX, 1 << rng.u32(..32), 0xffff << rng.u32(..17), rng.u32(1..)][rng.usize(..5)];
            let space = [Space::Global, Space::Shared][case % 2];
            let memory = AccessedMemory::Window;
            let seen = Seen::plain(space, Access::Read, active, &addresses, width, &memory);
            let range = seen.range();
            if let Some(range) = &range {
                let touched: BTreeSet<u64> = bytes(&seen, active).into_iter().collect();
                assert!(range.clone().eq(touched), "{range:?} {addresses:?}");
            }
            let lanes = active >> active.trailing_zeros();
            let is_whole = stride == 1 && lanes & lanes.wrapping_add(1) == 0 || stride == 0 && active == u32::MAX;
            assert!(range.is_some() || is_apart || !is_whole, "{addresses:?} {active:x}");
            let mut lines = BTreeMap::new();
            count(&mut lines, 7, &seen, range.as_ref());
            count(&mut lines, 7, &seen, None);
            let once = expected(&seen);
            let mut twice = once;
            twice += once;
            assert_eq!(lines, BTreeMap::from([(7, twice)]), "{addresses:?} of {width} bytes, lanes {active:x}");
        }
    }
}
