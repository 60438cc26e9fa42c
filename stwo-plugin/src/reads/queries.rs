//! The positions that a proof opens, before stwo draws them.
//!
//! They follow from the transcript as soon as the work was done, and the work is done here.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
};

use stwo::core::{channel::Blake2sChannel, queries::draw_queries};

/// Queries that a proof is assumed to have at first.
///
/// stwo does not state their number until they are read.
const FEWEST: usize = 64;

/// The most queries that are foreseen.
pub(crate) const MOST: usize = 1 << 10;

/// Proofs whose positions were foreseen so far, on any thread.
static PROOFS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The number of the proof whose positions are foreseen.
    static PROOF: Cell<u64> = const { Cell::new(0) };
    /// The transcript before positions are drawn.
    ///
    /// It is set from the proof of work until the next commitment.
    static TRANSCRIPT: RefCell<Option<Blake2sChannel>> = const { RefCell::new(None) };
    /// Log of the number of positions that are drawn from: values of the first layer of FRI.
    static LOG_POSITIONS: Cell<u32> = const { Cell::new(0) };
    /// Queries that the proof has at least.
    static QUERIES: Cell<usize> = const { Cell::new(FEWEST) };
}

/// Notes how many values the first layer of FRI has.
pub(crate) fn note_first_layer(log_size: u32) {
    LOG_POSITIONS.set(log_size);
}

/// Notes the transcript that positions are drawn from next.
pub(crate) fn foresee(transcript: Blake2sChannel) {
    TRANSCRIPT.set(Some(transcript));
    QUERIES.set(FEWEST);
    PROOF.set(PROOFS.fetch_add(1, Ordering::Relaxed) + 1);
}

/// The number of the proof whose positions are foreseen.
pub(crate) fn proof() -> u64 {
    PROOF.get()
}

/// Notes that the commitments differ from the proof whose positions were foreseen.
pub(crate) fn forget() {
    TRANSCRIPT.set(None);
}

/// Queries that the proof has at least.
pub(crate) fn at_least() -> usize {
    QUERIES.get()
}

/// Notes how many queries the proof has at least.
pub(crate) fn note_at_least(queries: usize) {
    QUERIES.set(queries);
}

/// Returns the log of the number of positions, and the positions that `queries` queries open.
///
/// The positions are in order. `None` if none can be foreseen.
pub(crate) fn positions(queries: usize) -> Option<(u32, Vec<u32>)> {
    TRANSCRIPT.with_borrow(|transcript| {
        let log_size = LOG_POSITIONS.get();
        let drawn = draw_queries(&mut transcript.clone()?, log_size, queries);
        let distinct: BTreeSet<u32> = drawn.into_iter().map(|position| position as u32).collect();
        Some((log_size, distinct.into_iter().collect()))
    })
}
