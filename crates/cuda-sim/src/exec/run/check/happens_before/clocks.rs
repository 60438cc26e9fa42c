//! Happens-before state of a block.
//!
//! It holds the clocks of warps, and the clocks of others that each lane is ordered after.
//!
//! A clock advances whenever something is published: at a barrier, a fence, a release. Barriers
//! give all lanes of a warp the same knowledge, so it is kept per warp, and per lane only where
//! lanes differ.

use std::rc::Rc;

use super::known::{GridKnowledge, KnownTimes, join};
use super::places::Released;
use crate::exec::lanes::{LaneBits, WARP};
use crate::exec::run::barrier::BARRIERS;

/// The clocks that the lanes of a warp are ordered after.
#[derive(Clone, Default)]
struct Knowledge {
    /// Of every lane, about the own block.
    own: Rc<KnownTimes>,
    /// Of every lane, about other blocks.
    others: Rc<GridKnowledge>,
    /// Single lanes beyond `others`, of any block.
    apart: Option<Rc<[Option<Rc<GridKnowledge>>; WARP]>>,
}

impl Knowledge {
    fn of_lane(&self, lane: usize) -> Option<&Rc<GridKnowledge>> {
        self.apart.as_ref().and_then(|apart| apart[lane].as_ref())
    }

    /// Adds to `target` what `lanes` of `warp` know, and what they did up to `time`.
    fn publish(&self, (block, warp, lanes): (u32, usize, u32), time: u32, target: &mut Rc<GridKnowledge>) {
        let mut own = (*self.own).clone();
        LaneBits(lanes).for_each(|lane| own.learn_lane(warp, lane, time));
        let target = Rc::make_mut(target);
        target.join_block(block, &Rc::new(own));
        target.join(&self.others);
        LaneBits(lanes).filter_map(|lane| self.of_lane(lane)).for_each(|apart| target.join(apart));
    }

    /// The lanes of `mask` learn `known`.
    fn learn(&mut self, block: u32, mask: u32, live: u32, known: &Rc<GridKnowledge>) {
        if known.is_empty() {
            return;
        }
        if live & !mask == 0 {
            if let Some(times) = known.of_block(block) {
                Rc::make_mut(&mut self.own).join(times);
            }
            for (other, times) in known.of_others(block) {
                Rc::make_mut(&mut self.others).join_block(other, times);
            }
            return;
        }
        let apart = Rc::make_mut(self.apart.get_or_insert_default());
        for lane in LaneBits(mask) {
            match &mut apart[lane] {
                Some(own) => join(own, known),
                none => *none = Some(known.clone()),
            }
        }
    }
}

/// A fence that lanes have made: what their later strong writes release.
struct Fence {
    lanes: u32,
    strength: Strength,
    time: u32,
    before: Knowledge,
}

/// The ordering strength of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec::run) struct Strength {
    /// Whether other blocks can rely on it.
    pub(in crate::exec::run) wide: bool,
    /// Whether it has a place in the single order of all such fences.
    ///
    /// Everything before it that reaches other threads, by a barrier say, is released by their
    /// strong writes too, to readers of those that then make such a fence.
    pub(in crate::exec::run) sequential: bool,
}

/// What lanes have read from a strong access and acquire at their next fence.
struct PendingAcquire {
    lanes: u32,
    wide: Rc<GridKnowledge>,
    narrow: Rc<GridKnowledge>,
    sequential: Rc<GridKnowledge>,
}

/// Pending reads of a warp that are told apart.
const PENDING: usize = 16;

#[derive(Default)]
pub(in crate::exec::run::check) struct WarpClock {
    now: u32,
    knowledge: Knowledge,
    fences: Vec<Fence>,
    /// What lanes know to be before wide sequential fences of others.
    fenced: Vec<(u32, Rc<GridKnowledge>)>,
    pending: Vec<PendingAcquire>,
    /// What lanes have acquired last, so that a lane that waits for a lock learns nothing twice.
    acquired: (u32, Rc<GridKnowledge>),
}

impl WarpClock {
    /// The present.
    #[inline(always)]
    pub(in crate::exec::run::check) fn now(&self) -> u32 {
        self.now
    }

    /// The clock of `warp` up to which its actions are ordered before all lanes of this warp.
    ///
    /// `warp` is a warp of the block.
    #[inline(always)]
    pub(in crate::exec::run::check) fn of_warp(&self, warp: usize) -> u32 {
        self.knowledge.own.of_warp(warp)
    }

    /// Whether an action of another lane is ordered before the present of `lane`.
    ///
    /// The other lane is of the own block, or of another block if `block` is given.
    pub(in crate::exec::run::check) fn knows(
        &self,
        lane: usize,
        block: Option<u32>,
        own: u32,
        other: (usize, usize),
        time: u32,
    ) -> bool {
        let (warp, other) = other;
        let all = match block {
            None => self.knowledge.own.knows(warp, other, time),
            Some(block) => self.knowledge.others.knows(block, warp, other, time),
        };
        all || self.knowledge.of_lane(lane).is_some_and(|apart| apart.knows(block.unwrap_or(own), warp, other, time))
    }

    /// The latest clock of another block that `lane` is ordered after.
    pub(in crate::exec::run::check) fn latest_of(&self, lane: usize, block: u32) -> u32 {
        let of = |known: &GridKnowledge| known.of_block(block).map_or(0, |times| times.latest());
        of(&self.knowledge.others).max(self.knowledge.of_lane(lane).map_or(0, |apart| of(apart)))
    }
}

/// Adds to `known` everything before the wide sequential fences of the lanes.
fn collect_fenced(clock: &WarpClock, block: u32, warp: usize, mask: u32, known: &mut Rc<GridKnowledge>) {
    for fence in &clock.fences {
        let lanes = fence.lanes & mask;
        if lanes != 0 && fence.strength.wide && fence.strength.sequential {
            fence.before.publish((block, warp, lanes), fence.time, known);
        }
    }
    clock.fenced.iter().filter(|(lanes, _)| lanes & mask != 0).for_each(|(_, fenced)| join(known, fenced));
}

/// Orders the lanes after everything before wide sequential fences of others.
fn learn_fenced(clock: &mut WarpClock, mask: u32, known: &Rc<GridKnowledge>) {
    if known.is_empty() {
        return;
    }
    clock.fenced.iter_mut().for_each(|(lanes, _)| *lanes &= !mask);
    clock.fenced.retain(|(lanes, _)| *lanes != 0);
    clock.fenced.push((mask, known.clone()));
}

/// The merged knowledge of the warps that have arrived at a barrier.
#[derive(Default)]
struct Gathered {
    own: KnownTimes,
    others: Rc<GridKnowledge>,
    fenced: Rc<GridKnowledge>,
}

pub(in crate::exec::run) struct BlockClocks {
    block: u32,
    warps: Vec<WarpClock>,
    barriers: [Gathered; BARRIERS],
}

impl BlockClocks {
    pub(in crate::exec::run) fn new(block: u32, warps: usize) -> Self {
        let warps = (0..warps).map(|_| WarpClock { now: 1, ..WarpClock::default() }).collect();
        Self { block, warps, barriers: Default::default() }
    }

    /// Number of the block.
    #[inline(always)]
    pub(in crate::exec::run::check) fn block(&self) -> u32 {
        self.block
    }

    #[inline(always)]
    pub(in crate::exec::run::check) fn warp(&self, warp: usize) -> &WarpClock {
        &self.warps[warp]
    }

    /// Lanes of a warp meet.
    pub(in crate::exec::run) fn meet(&mut self, warp: usize, mask: u32, live: u32) {
        let (block, clock) = (self.block, &mut self.warps[warp]);
        let mut fenced = Rc::default();
        collect_fenced(clock, block, warp, mask, &mut fenced);
        learn_fenced(clock, mask, &fenced);
        let met = clock.now;
        clock.now += 1;
        let knowledge = &mut clock.knowledge;
        let mut joined = Rc::default();
        for lane in LaneBits(mask) {
            if let Some(apart) = knowledge.of_lane(lane) {
                join(&mut joined, apart);
            }
        }
        if live & !mask == 0 {
            knowledge.learn(block, mask, live, &joined);
            Rc::make_mut(&mut knowledge.own).learn_warp(warp, met);
            knowledge.apart = None;
            return;
        }
        let mut times = KnownTimes::default();
        LaneBits(mask).for_each(|lane| times.learn_lane(warp, lane, met));
        Rc::make_mut(&mut joined).join_block(block, &Rc::new(times));
        knowledge.learn(block, mask, live, &joined);
    }

    /// Publishes the actions of lanes of a warp that arrive at a block barrier.
    ///
    /// Their knowledge of other actions is published too.
    pub(in crate::exec::run) fn arrive(&mut self, warp: usize, barrier: usize, mask: u32, live: u32) {
        let (block, clock) = (self.block, &mut self.warps[warp]);
        let gathered = &mut self.barriers[barrier];
        collect_fenced(clock, block, warp, mask, &mut gathered.fenced);
        let Knowledge { own, others, apart } = &clock.knowledge;
        gathered.own.join(own);
        join(&mut gathered.others, others);
        for known in LaneBits(if apart.is_some() { mask } else { 0 }).filter_map(|lane| clock.knowledge.of_lane(lane)) {
            if let Some(times) = known.of_block(block) {
                gathered.own.join(times);
            }
            for (other, times) in known.of_others(block) {
                Rc::make_mut(&mut gathered.others).join_block(other, times);
            }
        }
        if live & !mask == 0 {
            gathered.own.learn_warp(warp, clock.now);
        } else {
            LaneBits(mask).for_each(|lane| gathered.own.learn_lane(warp, lane, clock.now));
        }
        clock.now += 1;
    }

    /// Lanes leave a complete barrier with all that was published there.
    ///
    /// Each item is a warp, its lanes that have waited and those that have not exited.
    pub(in crate::exec::run) fn leave(&mut self, barrier: usize, waited: &[(usize, u32, u32)]) {
        let Gathered { own, others, fenced } = std::mem::take(&mut self.barriers[barrier]);
        let own = Rc::new(own);
        // Equal clocks let marks of several warps be one.
        let latest = waited.iter().map(|&(warp, ..)| self.warps[warp].now).max().unwrap_or(0);
        for &(warp, mask, live) in waited {
            self.warps[warp].now = latest;
            learn_fenced(&mut self.warps[warp], mask, &fenced);
            let knowledge = &mut self.warps[warp].knowledge;
            if live & !mask == 0 {
                // All of its lanes have arrived, so what they knew is among it.
                *knowledge = Knowledge { own: own.clone(), others: others.clone(), apart: None };
            } else {
                let mut known = GridKnowledge::clone(&others);
                known.join_block(self.block, &own);
                knowledge.learn(self.block, mask, live, &Rc::new(known));
            }
        }
    }

    /// Lanes make a fence.
    pub(in crate::exec::run) fn fence(&mut self, warp: usize, mask: u32, live: u32, strength: Strength) {
        let (block, clock) = (self.block, &mut self.warps[warp]);
        let Strength { wide, sequential } = strength;
        let mut pending = std::mem::take(&mut clock.pending);
        for read in pending.iter_mut().filter(|read| read.lanes & mask != 0) {
            let gained = gained(&read.wide, block, wide);
            clock.knowledge.learn(block, mask & read.lanes, live, &gained);
            clock.knowledge.learn(block, mask & read.lanes, live, &read.narrow);
            if wide && sequential {
                clock.knowledge.learn(block, mask & read.lanes, live, &read.sequential);
                read.lanes &= !mask;
            }
        }
        pending.retain(|read| read.lanes != 0);
        clock.pending = pending;
        let weaker = |fence: &Strength| (wide || !fence.wide) && (sequential || !fence.sequential);
        for fence in clock.fences.iter_mut().filter(|fence| weaker(&fence.strength)) {
            fence.lanes &= !mask;
        }
        clock.fences.retain(|fence| fence.lanes != 0);
        clock.fences.push(Fence { lanes: mask, strength, time: clock.now, before: clock.knowledge.clone() });
        clock.now += 1;
    }

    /// Acquires the releases at the target of a lane's read from a strong access.
    ///
    /// The lane acquires them now or at its next fence.
    pub(in crate::exec::run::check) fn acquire(
        &mut self,
        (warp, lane): (usize, usize),
        live: u32,
        from: &Released,
        now: Option<bool>,
    ) {
        let (block, clock) = (self.block, &mut self.warps[warp]);
        let bit = 1 << lane;
        let narrow = from.in_block(block);
        if let Some(wide) = now {
            let (lanes, known) = &mut clock.acquired;
            if narrow.is_none() && wide {
                if !Rc::ptr_eq(known, from.in_grid()) {
                    (*lanes, *known) = (0, from.in_grid().clone());
                } else if *lanes & bit != 0 {
                    return;
                }
                *lanes |= bit;
            }
            clock.knowledge.learn(block, bit, live, &gained(from.in_grid(), block, wide));
            if let Some(narrow) = narrow {
                clock.knowledge.learn(block, bit, live, narrow);
            }
            return;
        }
        let (wide, narrow) = (from.in_grid().clone(), narrow.cloned().unwrap_or_default());
        let sequential = from.before_fences().clone();
        let same = |a: &Rc<GridKnowledge>, b: &Rc<GridKnowledge>| Rc::ptr_eq(a, b) || a.is_empty() && b.is_empty();
        let known = |read: &&mut PendingAcquire| {
            same(&read.wide, &wide) && same(&read.narrow, &narrow) && same(&read.sequential, &sequential)
        };
        if let Some(read) = clock.pending.iter_mut().find(known) {
            read.lanes |= bit;
            return;
        }
        if clock.pending.len() == PENDING {
            // Rather known too well than not at all: the oldest reads become one.
            let oldest = clock.pending.remove(0);
            let next = &mut clock.pending[0];
            next.lanes |= oldest.lanes;
            join(&mut next.wide, &oldest.wide);
            join(&mut next.narrow, &oldest.narrow);
            join(&mut next.sequential, &oldest.sequential);
        }
        clock.pending.push(PendingAcquire { lanes: bit, wide, narrow, sequential });
    }

    /// Releases the actions before the last fences of a lane that makes a strong write.
    ///
    /// If the write `releases` by itself, all actions before it are released.
    pub(in crate::exec::run::check) fn release(
        &self,
        (warp, lane): (usize, usize),
        to: &mut Released,
        releases: bool,
        wide: bool,
    ) {
        let (clock, who) = (&self.warps[warp], (self.block, warp, 1 << lane));
        for fence in clock.fences.iter().filter(|fence| fence.lanes >> lane & 1 == 1) {
            fence.before.publish(who, fence.time, to.target(self.block, fence.strength.wide && wide));
        }
        for (_, fenced) in clock.fenced.iter().filter(|(lanes, _)| wide && lanes >> lane & 1 == 1) {
            to.add_before_fences(fenced);
        }
        if releases {
            clock.knowledge.publish(who, clock.now, to.target(self.block, wide));
        }
    }

    /// Ends the present of a warp that has released something.
    pub(in crate::exec::run::check) fn advance(&mut self, warp: usize) {
        self.warps[warp].now += 1;
    }
}

/// The part of a grid-wide release that an acquire gains.
///
/// It is all of it, or only the part about its block.
fn gained(released: &Rc<GridKnowledge>, block: u32, wide: bool) -> Rc<GridKnowledge> {
    if wide || released.is_empty() {
        return released.clone();
    }
    let mut own = GridKnowledge::default();
    if let Some(times) = released.of_block(block) {
        own.join_block(block, times);
    }
    Rc::new(own)
}
