//! Blocks that have read a place.
//!
//! They are lists that places share, since neighbours are mostly read by the same blocks in turn.

use std::collections::HashMap;

use super::mark::AccessMark;

/// A list of blocks with the clock of their latest read; 0 is the empty one.
pub(super) type Set = u32;

/// Number of blocks searched in a list before one of them is added again.
///
/// These are the blocks that run at the same time.
const RESIDENT: usize = 32;

/// A list: its latest block, and the list before that.
struct ReaderNode {
    before: Set,
    /// Its threads are not known; the first of a warp stands for them.
    read: AccessMark,
}

/// All lists.
#[derive(Default)]
pub(super) struct Past {
    nodes: Vec<ReaderNode>,
    /// The list that follows from another with a block and a clock.
    next: HashMap<(Set, u32, u32), Set>,
    latest: ((Set, u32, u32), Set),
}

impl Past {
    /// The list with another read.
    pub(super) fn with(&mut self, set: Set, read: AccessMark) -> Set {
        let key = (set, read.block, read.time);
        if self.latest.0 == key && self.latest.1 != 0 {
            return self.latest.1;
        }
        let known = self.next.get(&key).copied();
        let made = known.unwrap_or_else(|| {
            let made = self.make(set, read);
            self.next.insert(key, made);
            made
        });
        self.latest = (key, made);
        made
    }

    fn make(&mut self, set: Set, read: AccessMark) -> Set {
        let mut above = Vec::new();
        let mut at = set;
        while at != 0 && above.len() < RESIDENT {
            let node = &self.nodes[at as usize - 1];
            if node.read.block == read.block {
                if node.read.time >= read.time {
                    return set;
                }
                // The older read of that block is left out.
                let before = node.before;
                let shorter = above.iter().rev().fold(before, |set, &read| self.with(set, read));
                return self.push(shorter, read);
            }
            above.push(node.read);
            at = node.before;
        }
        self.push(set, read)
    }

    fn push(&mut self, before: Set, read: AccessMark) -> Set {
        self.nodes.push(ReaderNode { before, read: AccessMark { lanes: 1, ..read } });
        self.nodes.len() as u32
    }

    /// The reads of a list, latest first.
    pub(super) fn members(&self, mut set: Set) -> impl Iterator<Item = AccessMark> {
        std::iter::from_fn(move || {
            let node = &self.nodes[(set as usize).checked_sub(1)?];
            set = node.before;
            Some(node.read)
        })
    }
}
