//! What work has touched, and whether anything orders it before later work at the same place.
//!
//! Each task is checked against the tasks done before it that its clock does not know. Two that
//! touch the same byte are reported unless both read it, or both use atomics or strong loads and
//! stores there: on a device either may come first.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use litemap::LiteMap;

use super::{
    accesses::{Accesses, meeting},
    queue::VectorClock,
};
use crate::driver::handle::Id;

/// How many tasks of one line of work are remembered for an allocation.
///
/// If a task is unordered with an older one, that goes unnoticed.
const REMEMBERED: usize = 256;

/// Past accesses of an allocation: the last tasks of each line of work, oldest first.
#[derive(Debug, Default)]
pub(in crate::driver) struct AllocationHistory(LiteMap<Id, VecDeque<Past>>);

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

impl AllocationHistory {
    /// Remembers a task of `line`, which was done after `done` others.
    pub(in crate::driver) fn add(&mut self, line: Id, number: u64, work: Arc<str>, accesses: Accesses, done: u64) {
        let tasks = self.0.entry(line).or_default();
        if tasks.len() == REMEMBERED {
            tasks.pop_front();
        }
        tasks.push_back(Past { number, work, accesses, done });
    }

    /// The tasks here that are unordered with a task of `clock` and overlap `accesses`.
    ///
    /// Each comes with an address.
    pub(in crate::driver) fn unordered(&self, clock: &VectorClock, accesses: &Accesses) -> Vec<(Arc<str>, u64)> {
        let strangers = self.0.iter().flat_map(|(&line, tasks)| {
            let known = clock.count(line);
            tasks.iter().rev().take_while(move |past| past.number > known)
        });
        strangers.filter_map(|past| Some((past.work.clone(), past.accesses.conflict(accesses)?))).collect()
    }

    /// Whether a task wrote into a range after `done` tasks had been done.
    pub(in crate::driver) fn written_since(&self, done: u64, range: &Range<u64>) -> bool {
        let range = std::slice::from_ref(range);
        let later = self.0.values().flatten().filter(|past| past.done > done);
        later
            .map(|past| &past.accesses)
            .any(|past| meeting(&past.writes, range).is_some() || meeting(&past.atomics, range).is_some())
    }
}
