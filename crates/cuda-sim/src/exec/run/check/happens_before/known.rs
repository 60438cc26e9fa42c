//! Happens-before knowledge of every thread of the grid.
//!
//! It is the last clock of the thread's warp that is ordered before.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::exec::lanes::WARP;

/// Knowledge of the threads of one block.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownTimes {
    /// For each warp, the clock up to which all actions of its lanes are known.
    ///
    /// Zero beyond the end of the list.
    warps: Vec<u32>,
    /// Further knowledge of single threads.
    threads: BTreeMap<u16, u32>,
}

fn thread_of(warp: usize, lane: usize) -> u16 {
    (warp * WARP + lane) as u16
}

impl KnownTimes {
    /// Up to which clock all lanes of `warp` are known.
    #[inline(always)]
    pub(super) fn of_warp(&self, warp: usize) -> u32 {
        self.warps.get(warp).copied().unwrap_or(0)
    }

    /// Whether an action of a lane at `time` is known.
    pub(super) fn knows(&self, warp: usize, lane: usize, time: u32) -> bool {
        self.of_warp(warp) >= time || self.threads.get(&thread_of(warp, lane)).is_some_and(|&known| known >= time)
    }

    /// The latest clock of any warp that something is known of.
    pub(super) fn latest(&self) -> u32 {
        self.warps.iter().chain(self.threads.values()).copied().max().unwrap_or(0)
    }

    /// Learns all that a warp did up to `time`.
    pub(super) fn learn_warp(&mut self, warp: usize, time: u32) {
        if self.warps.len() <= warp {
            self.warps.resize(warp + 1, 0);
        }
        self.warps[warp] = self.warps[warp].max(time);
        let lanes = thread_of(warp, 0)..=thread_of(warp, WARP - 1);
        if self.threads.range(lanes.clone()).next().is_some() {
            self.threads.retain(|thread, known| !lanes.contains(thread) || *known > time);
        }
    }

    /// Learns all that a lane did up to `time`.
    pub(super) fn learn_lane(&mut self, warp: usize, lane: usize, time: u32) {
        if self.of_warp(warp) < time {
            let known = self.threads.entry(thread_of(warp, lane)).or_default();
            *known = (*known).max(time);
        }
    }

    /// Merges the knowledge in `other`.
    pub(super) fn join(&mut self, other: &Self) {
        if self.warps.len() < other.warps.len() {
            self.warps.resize(other.warps.len(), 0);
        }
        self.warps.iter_mut().zip(&other.warps).for_each(|(known, &time)| *known = (*known).max(time));
        if self.threads.is_empty() && other.threads.is_empty() {
            return;
        }
        for (&thread, &time) in &other.threads {
            self.learn_lane(usize::from(thread) / WARP, usize::from(thread) % WARP, time);
        }
        let warps = &self.warps;
        self.threads.retain(|&thread, time| warps.get(usize::from(thread) / WARP).is_none_or(|known| known < time));
    }
}

/// Knowledge of the blocks of the grid.
#[derive(Clone, Debug, Default)]
pub(super) struct GridKnowledge(HashMap<u32, Rc<KnownTimes>>);

impl GridKnowledge {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn of_block(&self, block: u32) -> Option<&Rc<KnownTimes>> {
        self.0.get(&block)
    }

    /// The knowledge of blocks other than `block`.
    pub(super) fn of_others(&self, block: u32) -> impl Iterator<Item = (u32, &Rc<KnownTimes>)> {
        self.0.iter().map(|(&other, times)| (other, times)).filter(move |&(other, _)| other != block)
    }

    pub(super) fn knows(&self, block: u32, warp: usize, lane: usize, time: u32) -> bool {
        self.of_block(block).is_some_and(|times| times.knows(warp, lane, time))
    }

    /// Merges `times` into the knowledge of `block`.
    pub(super) fn join_block(&mut self, block: u32, times: &Rc<KnownTimes>) {
        match self.0.get_mut(&block) {
            None => {
                self.0.insert(block, times.clone());
            }
            Some(known) if Rc::ptr_eq(known, times) => {}
            Some(known) => Rc::make_mut(known).join(times),
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        other.0.iter().for_each(|(&block, times)| self.join_block(block, times));
    }
}

/// Joins `from` into `into`, which may be the same value.
pub(super) fn join(into: &mut Rc<GridKnowledge>, from: &Rc<GridKnowledge>) {
    if from.is_empty() || Rc::ptr_eq(into, from) {
        return;
    }
    if into.is_empty() {
        *into = from.clone();
    } else {
        Rc::make_mut(into).join(from);
    }
}
