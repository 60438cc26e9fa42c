//! Counters of the layout of accesses.
//!
//! They count sectors of global memory and bank cycles of shared memory.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::exec::counters::Traffic;
use crate::exec::fault::Space;
use crate::exec::lanes::{Bits, WARP};
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
    for lane in Bits(seen.active) {
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
    for word in Bits(lanes).flat_map(words) {
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
