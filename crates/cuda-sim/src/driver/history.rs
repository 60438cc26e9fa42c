//! What work has touched, and whether anything orders it before later work at the same place.
//!
//! Each task is held against the tasks done before it that its clock does not know. Two that meet at a byte are reported
//! unless both read it or both go there by atomics or strong loads and stores: on a device either may come first.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::Arc,
};

use super::{
    counters::Report,
    handle::Id,
    queue::{Clock, Task},
    state::Driver,
    work::Work,
};
use crate::exec::{Memory, Touched};

/// Tasks of one line of work that are remembered of an allocation. A task that is unordered with an older one goes unnoticed.
const REMEMBERED: usize = 256;

/// Ranges of addresses in ascending order.
type Ranges = Vec<Range<u64>>;

/// The bytes that work touches, by what it does there.
#[derive(Clone, Debug, Default)]
pub(super) struct Accesses {
    pub(super) reads: Ranges,
    pub(super) writes: Ranges,
    pub(super) atomics: Ranges,
    pub(super) strong_reads: Ranges,
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

/// What is remembered of an allocation: for each line of work its last tasks, oldest first.
#[derive(Debug, Default)]
pub(super) struct History(BTreeMap<Id, VecDeque<Past>>);

/// A task that has been done.
#[derive(Debug)]
struct Past {
    /// Its number in its line of work.
    number: u64,
    work: Arc<str>,
    accesses: Accesses,
    /// How many tasks had been done when it was.
    done: u64,
}

/// The first address that two lists of ranges share.
fn meeting(a: &[Range<u64>], b: &[Range<u64>]) -> Option<u64> {
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
    /// The first address where both touch, and one of them in a way that the other must not overlap.
    fn conflict(&self, other: &Self) -> Option<u64> {
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
    fn by_allocation(self, memory: &Memory) -> BTreeMap<u64, Self> {
        let mut parts: BTreeMap<u64, Self> = BTreeMap::new();
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

impl History {
    /// What a task that knows `clock` and touches `accesses` meets here without an order: each task and an address.
    fn unordered(&self, clock: &Clock, accesses: &Accesses) -> Vec<(Arc<str>, u64)> {
        let strangers = self.0.iter().flat_map(|(&line, tasks)| {
            let known = clock.count(line);
            tasks.iter().rev().take_while(move |past| past.number > known)
        });
        strangers.filter_map(|past| Some((past.work.clone(), past.accesses.conflict(accesses)?))).collect()
    }

    /// Whether a task wrote into a range after `done` tasks had been done.
    fn written_since(&self, done: u64, range: &Range<u64>) -> bool {
        let range = std::slice::from_ref(range);
        let later = self.0.values().flatten().filter(|past| past.done > done);
        later
            .map(|past| &past.accesses)
            .any(|past| meeting(&past.writes, range).is_some() || meeting(&past.atomics, range).is_some())
    }
}

impl Driver {
    /// Holds what a task has touched against the work before it, and remembers it.
    pub(super) fn remember(&mut self, task: &Task, accesses: Accesses) {
        let work: Arc<str> = task.work.to_string().into();
        let (line, number) = task.who;
        let parts = match task.work {
            // Its allocation is gone by now.
            Work::Free(base) => BTreeMap::from([(base, accesses)]),
            _ => accesses.by_allocation(&self.memory),
        };
        for (base, accesses) in parts {
            self.check_birth(task, base);
            let history = self.histories.entry(base).or_default();
            let strangers = history.unordered(&task.clock, &accesses);
            let tasks = history.0.entry(line).or_default();
            if tasks.len() == REMEMBERED {
                tasks.pop_front();
            }
            tasks.push_back(Past { number, work: work.clone(), accesses, done: self.done });
            for (earlier, address) in strangers {
                let work = work.to_string();
                self.report(Report::Unordered { work, earlier: earlier.to_string(), address });
            }
        }
        if let Work::Free(base) = task.work {
            self.histories.remove(&base);
        }
    }

    /// Reports a use of stream-ordered memory that nothing orders after its allocation. The address may have come to the
    /// work in any way.
    fn check_birth(&mut self, task: &Task, base: u64) {
        let Some(life) = self.blocks.get(&base).and_then(|block| block.ordered.as_ref()) else { return };
        let born = life.born.is_some_and(|(line, number)| task.clock.knows(line, number));
        if !born {
            let relation = super::order::BEFORE_BIRTH;
            self.report(Report::StreamOrder { work: task.work.to_string(), address: base, relation });
        }
    }

    /// Reports a copy from pinned memory that holds something else than it did when the copy was enqueued, when `done` tasks had been done,
    /// unless other work may have written there meanwhile.
    pub(super) fn check_source(&mut self, work: &Work, digest: u64, done: u64) {
        let Work::Copy(copy) = work else { return };
        let Some(source) = copy.host_source().filter(|_| copy.source_digest() != Some(digest)) else { return };
        let history = self.memory.find(source.start).and_then(|found| self.histories.get(&found.base));
        let by_work = self.last_host_function > done || history.is_some_and(|past| past.written_since(done, &source));
        if !by_work {
            self.report(Report::SourceChanged { work: work.to_string(), address: source.start });
        }
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
