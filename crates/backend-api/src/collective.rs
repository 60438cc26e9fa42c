//! Queues of several devices that work on one thing.

use core::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use crate::{BackendError, Element, Mut, Queue, Ref};

/// A place in a group of ranks, which all make the same calls in the same order.
///
/// Once a rank fails, every call of every rank fails, those that wait for it too: make another
/// group then.
pub trait Ranks: Send + Sync {
    /// The number of this rank, less than [`ranks`](Self::ranks).
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn ranks(&self) -> usize;

    /// Makes every later call of every rank fail with [`CollectiveError::GaveUp`].
    ///
    /// If a call has failed before, its error is kept.
    fn give_up(&self);

    /// Bytes that this rank has sent to each rank so far; none to itself.
    fn sent_bytes(&self) -> Vec<u64>;
}

/// Membership of one queue in a group of ranks, each with a queue on a separate device.
///
/// A call is queued like an op: it sees the work submitted before it, and work submitted after it
/// sees its results.
pub trait Collective<Q: Queue>: Ranks {
    /// Sends each rank's share of a buffer to every other rank; rank `r` owns `shares[r]`.
    ///
    /// Shares may differ in length and may be empty.
    ///
    /// # Errors
    /// [`CollectiveError::Shares`] if there is not one share for each rank; else see
    /// [`CollectiveError`].
    fn all_gather<T: Element>(
        &self,
        q: &Q,
        buffer: &mut Q::Buf<T>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError>;

    /// Cuts `src` into equal parts, one per rank, and sends part `r` to rank `r`.
    ///
    /// Part `r` of `dst` comes from rank `r`.
    ///
    /// # Errors
    /// [`CollectiveError::Parts`] if the views are not of one length, a multiple of the number of
    /// ranks; else see [`CollectiveError`].
    fn all_to_all<T: Element>(&self, q: &Q, src: Ref<'_, Q, T>, dst: Mut<'_, Q, T>) -> Result<(), CollectiveError>;

    /// Copies `range` of a buffer from rank `root` to every rank.
    ///
    /// # Errors
    /// [`CollectiveError::Root`] if there is no such rank; else see [`CollectiveError`].
    fn broadcast<T: Element>(
        &self,
        q: &Q,
        root: usize,
        buffer: &mut Q::Buf<T>,
        range: Range<usize>,
    ) -> Result<(), CollectiveError>;

    /// Waits until the work of all ranks is done that was submitted before.
    ///
    /// # Errors
    /// See [`CollectiveError`].
    fn barrier(&self, q: &Q) -> Result<(), CollectiveError>;
}

impl<C: Ranks + ?Sized> Ranks for Arc<C> {
    fn rank(&self) -> usize {
        C::rank(self)
    }

    fn ranks(&self) -> usize {
        C::ranks(self)
    }

    fn give_up(&self) {
        C::give_up(self);
    }

    fn sent_bytes(&self) -> Vec<u64> {
        C::sent_bytes(self)
    }
}

impl<Q: Queue, C: Collective<Q>> Collective<Q> for Arc<C> {
    fn all_gather<T: Element>(
        &self,
        q: &Q,
        buffer: &mut Q::Buf<T>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError> {
        C::all_gather(self, q, buffer, shares)
    }

    fn all_to_all<T: Element>(&self, q: &Q, src: Ref<'_, Q, T>, dst: Mut<'_, Q, T>) -> Result<(), CollectiveError> {
        C::all_to_all(self, q, src, dst)
    }

    fn broadcast<T: Element>(
        &self,
        q: &Q,
        root: usize,
        buffer: &mut Q::Buf<T>,
        range: Range<usize>,
    ) -> Result<(), CollectiveError> {
        C::broadcast(self, q, root, buffer, range)
    }

    fn barrier(&self, q: &Q) -> Result<(), CollectiveError> {
        C::barrier(self, q)
    }
}

/// Why ranks do not go on together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CollectiveError {
    /// A rank is not there any more: its thread or process ended.
    #[error("rank {rank} ended")]
    Gone {
        /// The rank.
        rank: usize,
    },
    /// A rank gave up after a local failure.
    #[error("rank {rank} gave up after a local failure")]
    GaveUp {
        /// The rank.
        rank: usize,
    },
    /// A rank did not come to a call in time.
    #[error("rank {rank} did not enter {call} within {seconds} s")]
    Stalled {
        /// The rank.
        rank: usize,
        /// The call that others were at.
        call: String,
        /// How long they waited.
        seconds: u64,
    },
    /// A rank made another call than rank 0.
    #[error("rank {rank} differs from rank 0: expected {expected}, got {got}")]
    Disagrees {
        /// The rank.
        rank: usize,
        /// The call of rank 0.
        expected: String,
        /// The call of that rank.
        got: String,
    },
    /// There is not one share for each rank.
    #[error("expected shares of {expected} ranks, got {got}")]
    Shares {
        /// Ranks.
        expected: usize,
        /// Shares given.
        got: usize,
    },
    /// Views cannot be cut into one part for each rank.
    #[error("expected views of equal length, a multiple of {ranks}, got {src} and {dst} elements")]
    Parts {
        /// Ranks.
        ranks: usize,
        /// Elements of the view that is sent.
        src: usize,
        /// Elements of the view that is received.
        dst: usize,
    },
    /// There is no such rank.
    #[error("expected a rank below {ranks}, got {got}")]
    Root {
        /// Ranks.
        ranks: usize,
        /// The requested rank.
        got: usize,
    },
    /// The communication library failed.
    #[error("{call} failed with {name} ({code}): {text}")]
    Library {
        /// The function.
        call: &'static str,
        /// Its result code.
        code: i32,
        /// The name of the code.
        name: &'static str,
        /// The library's description of the error.
        text: String,
    },
    /// The transport of the messages failed.
    #[error("{0}")]
    Transport(String),
    /// The device of this rank failed.
    #[error("the device of this rank failed")]
    Backend(#[from] BackendError),
}
