//! Counts of the bytes that a rank has sent.

use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes sent to each rank: see [`Ranks::sent_bytes`](backend_api::Ranks::sent_bytes).
#[derive(Debug)]
pub struct Sent {
    own: usize,
    bytes: Vec<AtomicU64>,
}

impl Sent {
    /// No bytes sent yet, by rank `own` of `ranks`.
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
