//! The bytes that work touches, and where two lists of them meet.

use std::ops::Range;

use litemap::LiteMap;

use crate::exec::{Memory, Touched};

/// Ranges of addresses in ascending order.
type Ranges = Vec<Range<u64>>;

/// The bytes that work touches, by kind of access.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct Accesses {
    pub(in crate::driver) reads: Ranges,
    pub(in crate::driver) writes: Ranges,
    pub(in crate::driver) atomics: Ranges,
    pub(in crate::driver) strong_reads: Ranges,
}

impl From<Touched> for Accesses {
    fn from(touched: Touched) -> Self {
        Self {
            reads: touched.reads(),
            writes: touched.writes(),
            atomics: touched.atomics(),
            strong_reads: touched.strong_reads(),
        }
    }
}

/// The first address that two lists of ranges share.
pub(super) fn meeting(a: &[Range<u64>], b: &[Range<u64>]) -> Option<u64> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        let start = x.start.max(y.start);
        if start < x.end.min(y.end) {
            return Some(start);
        }
        if x.end <= y.end {
            a.next();
        } else {
            b.next();
        }
    }
    None
}

impl Accesses {
    /// The first address that both touch in conflicting ways.
    ///
    /// At least one of them touches it in a way that the other must not overlap.
    pub(in crate::driver) fn conflict(&self, other: &Self) -> Option<u64> {
        let pairs = [
            (&self.writes, &other.writes),
            (&self.writes, &other.reads),
            (&self.reads, &other.writes),
            (&self.writes, &other.atomics),
            (&self.atomics, &other.writes),
            (&self.reads, &other.atomics),
            (&self.atomics, &other.reads),
            (&self.writes, &other.strong_reads),
            (&self.strong_reads, &other.writes),
        ];
        pairs.into_iter().find_map(|(mine, theirs)| meeting(mine, theirs))
    }

    /// The same by the base of the allocation that holds them. What lies in none is left out.
    pub(in crate::driver) fn by_allocation(self, memory: &Memory) -> LiteMap<u64, Self> {
        let mut parts: LiteMap<u64, Self> = LiteMap::new();
        let mut within: Option<Range<u64>> = None;
        let mut split = |ranges: Ranges, kind: fn(&mut Self) -> &mut Ranges| {
            for mut range in ranges {
                while range.start < range.end {
                    if !within.as_ref().is_some_and(|within| within.contains(&range.start)) {
                        within = memory.find(range.start).map(|found| found.base..found.base + found.bytes);
                    }
                    let Some(within) = &within else { break };
                    let end = range.end.min(within.end);
                    kind(parts.entry(within.start).or_default()).push(range.start..end);
                    range.start = end;
                }
            }
        };
        split(self.reads, |part| &mut part.reads);
        split(self.writes, |part| &mut part.writes);
        split(self.atomics, |part| &mut part.atomics);
        split(self.strong_reads, |part| &mut part.strong_reads);
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_meet_at_their_first_common_address() {
        assert_eq!(meeting(&[0..4, 8..12], &[4..8, 12..16]), None);
        assert_eq!(meeting(&[0..4, 8..12], &[4..9, 10..11]), Some(8));
        assert_eq!(meeting(&[0..100, 200..300], &[3..4, 50..60]), Some(3));
        assert_eq!(meeting(&[], &[3..4, 5..6]), None);
    }

    #[test]
    fn two_tasks_may_meet_where_both_read_or_neither_access_is_weak() {
        let at = |kind: usize| {
            let mut ranges = [const { Vec::new() }; 4];
            ranges[kind].push(16..20);
            let [reads, writes, atomics, strong_reads] = ranges;
            Accesses { reads, writes, atomics, strong_reads }
        };
        let [read, atomic, strong_read] = [0, 2, 3];
        let harmless =
            [[read, read], [atomic, atomic], [strong_read, strong_read], [read, strong_read], [atomic, strong_read]];
        for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
            let expected = harmless.contains(&[a, b]) || harmless.contains(&[b, a]);
            assert_eq!(at(a).conflict(&at(b)).is_none(), expected, "{a} {b}");
        }
    }
}
