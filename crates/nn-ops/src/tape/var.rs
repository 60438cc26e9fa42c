//! Handles of the values on a tape.

use std::sync::atomic::{AtomicU64, Ordering};

/// Tapes that the process has made.
static TAPES: AtomicU64 = AtomicU64::new(0);

/// The number of a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TapeId(u64);

impl TapeId {
    /// A number that no other tape has.
    pub(super) fn new() -> Self {
        Self(TAPES.fetch_add(1, Ordering::Relaxed))
    }
}

/// A value on a [`Tape`](super::Tape).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var {
    pub(super) tape: TapeId,
    /// The position of its node.
    pub(super) index: usize,
}
