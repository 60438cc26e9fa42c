//! Best-fit allocation of spans from segments of address space.
//!
//! Spans that come back are joined.

use std::collections::{BTreeMap, BTreeSet};

/// Segments of address space cut into spans. Never accesses the memory at the addresses.
#[derive(Debug)]
pub(super) struct AddressArena {
    spans: BTreeMap<u64, ArenaSpan>,
    /// Length and address of each free span, so that the first one long enough is the best fit.
    free: BTreeSet<(u64, u64)>,
    /// A remainder of at most this many bytes stays with the span that was cut.
    keep_rest: u64,
}

#[derive(Clone, Copy, Debug)]
struct ArenaSpan {
    bytes: u64,
    segment: u64,
    free: bool,
}

impl AddressArena {
    pub(super) fn new(keep_rest: u64) -> Self {
        Self { spans: BTreeMap::new(), free: BTreeSet::new(), keep_rest }
    }

    /// Adds a free segment.
    pub(super) fn add_segment(&mut self, address: u64, bytes: u64) {
        self.spans.insert(address, ArenaSpan { bytes, segment: address, free: true });
        self.free.insert((bytes, address));
    }

    /// Takes `bytes` bytes from the shortest free span that is long enough.
    pub(super) fn take(&mut self, bytes: u64) -> Option<u64> {
        let &(found, address) = self.free.range((bytes, 0)..).next()?;
        let span = self.spans.get_mut(&address)?;
        self.free.remove(&(found, address));
        span.free = false;
        let rest = found - bytes;
        if rest > self.keep_rest {
            span.bytes = bytes;
            let rest_span = ArenaSpan { bytes: rest, segment: span.segment, free: true };
            self.spans.insert(address + bytes, rest_span);
            self.free.insert((rest, address + bytes));
        }
        Some(address)
    }

    /// Gives a taken span back and joins it with free neighbours of its segment.
    ///
    /// `false` if none was taken there.
    pub(super) fn give_back(&mut self, address: u64) -> bool {
        let Some(&span) = self.spans.get(&address).filter(|span| !span.free) else { return false };
        let mut joined = ArenaSpan { free: true, ..span };
        let mut start = address;
        let joinable = |other: &ArenaSpan| other.free && other.segment == span.segment;
        if let Some((&next, &other)) = self.spans.range(address + 1..).next().filter(|(_, other)| joinable(other)) {
            self.remove_free(next, other.bytes);
            joined.bytes += other.bytes;
        }
        if let Some((&before, &other)) = self.spans.range(..address).next_back().filter(|(_, other)| joinable(other)) {
            self.remove_free(before, other.bytes);
            self.spans.remove(&address);
            joined.bytes += other.bytes;
            start = before;
        }
        self.spans.insert(start, joined);
        self.free.insert((joined.bytes, start));
        true
    }

    /// Removes the segments that have nothing taken, and returns their addresses and lengths.
    pub(super) fn remove_free_segments(&mut self) -> Vec<(u64, u64)> {
        // Free neighbours are joined, so a free segment is one span, and a span that is a whole segment has no follower.
        let whole = |(address, span): (&u64, &ArenaSpan)| {
            let follower = self.spans.range(address + 1..).next();
            let alone = follower.is_none_or(|(_, next)| next.segment != span.segment);
            (span.free && span.segment == *address && alone).then_some((*address, span.bytes))
        };
        let free: Vec<_> = self.spans.iter().filter_map(whole).collect();
        for &(address, bytes) in &free {
            self.remove_free(address, bytes);
        }
        free
    }

    fn remove_free(&mut self, address: u64, bytes: u64) {
        self.spans.remove(&address);
        self.free.remove(&(bytes, address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_span_that_fits_is_cut_and_joins_again() {
        let mut arena = AddressArena::new(0);
        arena.add_segment(0x1000, 4096);
        arena.add_segment(0x8000, 1024);
        assert_eq!(arena.take(512), Some(0x8000));
        assert_eq!(arena.take(2048), Some(0x1000));
        assert_eq!(arena.take(512), Some(0x8200));
        assert_eq!(arena.take(4096), None);
        assert!(arena.give_back(0x8000) && arena.give_back(0x1000) && arena.give_back(0x8200));
        assert!(!arena.give_back(0x8200), "given back already");
        assert_eq!(arena.take(4096), Some(0x1000));
        assert_eq!(arena.remove_free_segments(), [(0x8000, 1024)]);
        assert_eq!(arena.take(512), None);
    }

    #[test]
    fn a_short_remainder_stays_with_the_span_that_was_cut() {
        for (bytes, remainder) in [(1536, None), (1535, Some(0x1000 + 1535))] {
            let mut arena = AddressArena::new(512);
            arena.add_segment(0x1000, 2048);
            assert_eq!((arena.take(bytes), arena.take(512)), (Some(0x1000), remainder));
            assert!(arena.give_back(0x1000));
        }
    }

    #[test]
    fn neighbouring_segments_do_not_join() {
        let mut arena = AddressArena::new(0);
        arena.add_segment(0x1000, 0x1000);
        arena.add_segment(0x2000, 0x1000);
        assert_eq!(arena.take(0x1000), Some(0x1000));
        assert!(arena.give_back(0x1000));
        assert_eq!(arena.take(0x2000), None);
        assert_eq!(arena.remove_free_segments().len(), 2);
    }

    #[test]
    fn random_traces_never_overlap_and_come_back_whole() {
        let mut arena = AddressArena::new(512);
        for segment in 0..4u64 {
            arena.add_segment(segment << 32, 64 << 10);
        }
        let mut rng = fastrand::Rng::with_seed(1);
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for _ in 0..10_000 {
            if rng.bool() {
                let bytes = 512 * rng.u64(1..=16);
                if let Some(address) = arena.take(bytes) {
                    assert!(taken.iter().all(|&(start, len)| address + bytes <= start || start + len <= address));
                    taken.push((address, bytes));
                }
            } else if !taken.is_empty() {
                let (address, _) = taken.swap_remove(rng.usize(..taken.len()));
                assert!(arena.give_back(address));
            }
        }
        for (address, _) in taken {
            assert!(arena.give_back(address));
        }
        let whole: Vec<_> = (0..4u64).map(|segment| (segment << 32, 64 << 10)).collect();
        assert_eq!(arena.remove_free_segments(), whole);
    }
}
