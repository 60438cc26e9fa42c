//! Messages in flight.

use core::mem;
use std::{
    thread,
    time::{Duration, Instant},
};

use mpi::{
    Tag,
    request::{LocalScope, Request},
    topology::SimpleCommunicator,
    traits::{Communicator as _, Destination as _, Source as _},
};

/// Words that MPI takes at once: 16 MiB.
///
/// Its counts are `i32`; a longer message is cut in pieces, which come in the order they went.
pub(crate) const PIECE: usize = 1 << 22;

/// Messages to ranks and from ranks that are not done.
///
/// MPI may still access their memory, so a flight is polled until it is done.
pub(crate) struct Flight<'a, 's> {
    world: &'s SimpleCommunicator,
    scope: &'s LocalScope<'a>,
    tag: Tag,
    under_way: Vec<(usize, Request<'a, [u32], &'s LocalScope<'a>>)>,
}

impl<'a, 's> Flight<'a, 's> {
    pub(crate) fn new(world: &'s SimpleCommunicator, scope: &'s LocalScope<'a>, tag: Tag) -> Self {
        Self { world, scope, tag, under_way: Vec::new() }
    }

    /// Begins to send words to a rank.
    pub(crate) fn send(&mut self, rank: usize, words: &'a [u32]) {
        let process = self.world.process_at_rank(rank as i32);
        let sends = words.chunks(PIECE).map(|piece| process.immediate_send_with_tag(self.scope, piece, self.tag));
        self.under_way.extend(sends.map(|send| (rank, send)));
    }

    /// Begins to receive words from a rank, `room.len()` in all.
    pub(crate) fn receive(&mut self, rank: usize, room: &'a mut [u32]) {
        let process = self.world.process_at_rank(rank as i32);
        let pieces = room.chunks_mut(PIECE);
        let receives = pieces.map(|piece| process.immediate_receive_into_with_tag(self.scope, piece, self.tag));
        self.under_way.extend(receives.map(|receive| (rank, receive)));
    }

    /// Lets MPI go on, and returns whether a message was done.
    pub(crate) fn poll(&mut self) -> bool {
        let before = self.under_way.len();
        for (rank, request) in mem::take(&mut self.under_way) {
            if let Err(request) = request.test() {
                self.under_way.push((rank, request));
            }
        }
        self.under_way.len() < before
    }

    /// The ranks whose messages are not done, in the order these began.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = usize> {
        self.under_way.iter().map(|(rank, _)| *rank)
    }

    /// Whether no message is in flight.
    pub(crate) fn is_done(&self) -> bool {
        self.under_way.is_empty()
    }
}

/// A poll loop's pause: the longer nothing arrives, the more CPU time it leaves to others.
pub(crate) struct Pause {
    since: Instant,
}

impl Pause {
    pub(crate) fn new() -> Self {
        Self { since: Instant::now() }
    }

    /// Something came.
    pub(crate) fn reset(&mut self) {
        self.since = Instant::now();
    }

    /// Since when nothing has come.
    pub(crate) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    pub(crate) fn wait(&self) {
        match self.elapsed().as_micros() {
            0..1_000 => thread::yield_now(),
            1_000..50_000 => thread::sleep(Duration::from_micros(20)),
            _ => thread::sleep(Duration::from_micros(500)),
        }
    }
}
