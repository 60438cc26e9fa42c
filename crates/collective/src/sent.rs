//! What a rank has sent.

use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a rank has sent to each rank, as [`Ranks::sent_bytes`](backend_api::Ranks::sent_bytes) says; none to itself.
#[derive(Debug)]
pub struct Sent {
    own: usize,
    bytes: Vec<AtomicU64>,
}

impl Sent {
    /// None so far, by rank `own` of so many.
    #[must_use]
    pub fn new(own: usize, ranks: usize) -> Self {
        Self { own, bytes: (0..ranks).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Counts what went to each other rank, in bytes by rank.
    pub fn count(&self, bytes: impl Fn(usize) -> usize) {
        for (rank, sent) in self.bytes.iter().enumerate().filter(|(rank, _)| *rank != self.own) {
            sent.fetch_add(bytes(rank) as u64, Ordering::Relaxed);
        }
    }

    /// Bytes by rank.
    #[must_use]
    pub fn bytes(&self) -> Vec<u64> {
        self.bytes.iter().map(|sent| sent.load(Ordering::Relaxed)).collect()
    }
}
