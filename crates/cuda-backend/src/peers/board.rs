//! The memory that the ranks of a group offer each other between two meetings.
//!
//! The board also lists the readers of that memory.

use core::{mem, time::Duration};
use std::{
    sync::{Arc, Condvar, Mutex},
    time::Instant,
};

use crate::{
    error::DriverFault,
    ffi::{CudaEvent, CudaStream, Events},
    mem::DeviceBlock,
    sync::lock,
};

/// A point in the work of a stream that streams of other devices can wait for.
///
/// Dropped when all that wait for it have been told to.
#[derive(Debug)]
pub(super) struct StreamPoint {
    /// There until the point is dropped.
    event: Option<CudaEvent>,
    events: Arc<Events>,
}

impl StreamPoint {
    /// The point after all work that `stream` holds now.
    pub(super) fn after(stream: &CudaStream, events: &Arc<Events>) -> Result<Self, DriverFault> {
        Ok(Self { event: Some(events.record(stream)?), events: Arc::clone(events) })
    }

    /// Lets later work of `stream` run after this point.
    pub(super) fn hold_back(&self, stream: &CudaStream) -> Result<(), DriverFault> {
        self.event.as_ref().map_or(Ok(()), |event| stream.wait_for(event))
    }

    /// Waits until the work before this point does not run any more.
    ///
    /// `false` if that cannot be known.
    fn is_settled(&self) -> bool {
        self.event.as_ref().is_none_or(|event| event.wait().is_ok() || event.is_dead() || event.wait().is_ok())
    }
}

impl Drop for StreamPoint {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            self.events.give_back(event);
        }
    }
}

/// Memory that others may read after `ready`.
///
/// It is `bytes` bytes at `address` of the rank's device.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) ready: StreamPoint,
    pub(super) address: u64,
    pub(super) bytes: u64,
}

/// Where the ranks of a group put what they offer and how far they are.
#[derive(Debug)]
pub(super) struct Board {
    patience: Duration,
    state: Mutex<BoardState>,
    /// Signalled when a reader ends.
    changed: Condvar,
}

#[derive(Debug)]
struct BoardState {
    /// Of each rank.
    offers: Vec<Option<Arc<Offer>>>,
    /// Behind the copies of each rank.
    read: Vec<Option<Arc<StreamPoint>>>,
    /// Ranks that have offers of others in their hands.
    readers: usize,
    /// A rank failed, and whether its copies still run cannot be known.
    in_doubt: bool,
}

impl Board {
    /// A board of `ranks` ranks, which wait up to `patience` for the threads of others.
    pub(super) fn new(ranks: usize, patience: Duration) -> Arc<Self> {
        let none = |_| None;
        let read = (0..ranks).map(|_| None).collect();
        let state = BoardState { offers: (0..ranks).map(none).collect(), read, readers: 0, in_doubt: false };
        Arc::new(Self { patience, state: Mutex::new(state), changed: Condvar::new() })
    }

    /// Puts up what `rank` offers, which lies in `blocks`, until the value is dropped.
    pub(super) fn offer(&self, rank: usize, offer: Offer, blocks: Vec<Arc<DeviceBlock>>) -> Offered<'_> {
        if let Some(own) = lock(&self.state).offers.get_mut(rank) {
            *own = Some(Arc::new(offer));
        }
        Offered { board: self, rank, blocks, read: Vec::new() }
    }

    /// All offers, for copies that are submitted to `streams`.
    pub(super) fn read(&self, streams: Vec<Arc<CudaStream>>) -> Reading<'_> {
        let mut state = lock(&self.state);
        state.readers += 1;
        Reading { board: self, offers: state.offers.clone(), streams, is_settled: false }
    }

    /// Records the point after the copies of `rank`.
    pub(super) fn has_read(&self, rank: usize, point: StreamPoint) {
        if let Some(own) = lock(&self.state).read.get_mut(rank) {
            *own = Some(Arc::new(point));
        }
    }

    /// How far the ranks but `own` are with their copies.
    pub(super) fn others_read(&self, own: usize) -> Vec<Arc<StreamPoint>> {
        let state = lock(&self.state);
        let others = state.read.iter().enumerate().filter(|(rank, _)| *rank != own);
        others.filter_map(|(_, point)| point.clone()).collect()
    }

    /// Withdraws the offer of `rank`, once no reader holds it.
    ///
    /// `false` if a reader does not release it in time, or if copies of it may still run that no
    /// rank waits for.
    fn withdraw(&self, rank: usize) -> bool {
        let end = Instant::now() + self.patience;
        let mut state = lock(&self.state);
        while state.readers > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        let offer = state.offers.get_mut(rank).and_then(Option::take);
        let is_certain = !state.in_doubt;
        drop(state);
        drop(offer);
        is_certain
    }
}

/// A rank's offer, until dropped.
///
/// Then it has no reader any more, or its memory is never given back.
#[derive(Debug)]
pub(super) struct Offered<'a> {
    board: &'a Board,
    rank: usize,
    blocks: Vec<Arc<DeviceBlock>>,
    /// Points to wait for before the memory may be written again.
    read: Vec<Arc<StreamPoint>>,
}

impl Offered<'_> {
    /// Notes how far others were when all had submitted their copies.
    pub(super) fn is_read(&mut self, points: Vec<Arc<StreamPoint>>) {
        self.read = points;
    }

    /// Orders later work of `stream` after the copies of others.
    ///
    /// The memory is used in the order of that stream.
    pub(super) fn order(&mut self, stream: &CudaStream) -> Result<(), DriverFault> {
        self.read.iter().try_for_each(|point| point.hold_back(stream))?;
        self.read.clear();
        Ok(())
    }
}

impl Drop for Offered<'_> {
    fn drop(&mut self) {
        let is_down = self.board.withdraw(self.rank);
        if !(self.read.drain(..).all(|point| point.is_settled()) && is_down) {
            self.blocks.drain(..).for_each(mem::forget);
        }
    }
}

/// What others offer, in the hands of a rank that copies it.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    board: &'a Board,
    offers: Vec<Option<Arc<Offer>>>,
    /// Where the copies are submitted.
    streams: Vec<Arc<CudaStream>>,
    /// All ranks know how far this one is.
    is_settled: bool,
}

impl Reading<'_> {
    /// What `rank` offers; `None` if it took that down because it failed.
    pub(super) fn offer(&self, rank: usize) -> Option<&Offer> {
        self.offers.get(rank)?.as_deref()
    }

    /// Ends the reading: all ranks know how far the copies are.
    pub(super) fn settle(mut self) {
        self.is_settled = true;
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let is_certain = self.is_settled || self.streams.iter().all(|stream| stream.is_settled());
        self.offers.clear();
        let mut state = lock(&self.board.state);
        state.readers -= 1;
        state.in_doubt |= !is_certain;
        self.board.changed.notify_all();
    }
}
