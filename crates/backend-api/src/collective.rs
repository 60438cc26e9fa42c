//! Queues of several devices that work on one thing.

use core::ops::Range;
use std::sync::Arc;

use thiserror::Error;

use crate::{BackendError, Element, Mut, Queue, Ref};

/// A place in a group of ranks, which all make the same calls in the same order.
///
/// Once a rank fails, every call of every rank fails, those that wait for it too: make another group then.
pub trait Ranks: Send + Sync {
    /// The number of this rank, below that of [`ranks`](Self::ranks).
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn ranks(&self) -> usize;

    /// Gives up: from now on every call of every rank fails with [`CollectiveError::GaveUp`], if none has failed before.
    fn give_up(&self);

    /// Bytes that this rank has sent to each rank so far; none to itself.
    fn sent_bytes(&self) -> Vec<u64>;
}

/// The place of one queue in a group of ranks, each with a queue on a device of its own.
///
/// A call is work on the queue like an op: what was submitted before is seen, and what is submitted after sees its results.
pub trait Collective<Q: Queue>: Ranks {
    /// Brings to every rank what each of the others has at its share of a buffer: rank `r` at `shares[r]`. Shares may be of
    /// different lengths, and empty.
    ///
    /// # Errors
    /// [`CollectiveError::Shares`] if there is not one share for each rank; else see [`CollectiveError`].
    fn all_gather<T: Element>(
        &self,
        q: &Q,
        buffer: &mut Q::Buf<T>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError>;

    /// Cuts `src` into equal parts, one for each rank, and brings part `r` to rank `r`. What came from rank `r` is part `r` of
    /// `dst`.
    ///
    /// # Errors
    /// [`CollectiveError::Parts`] if the views are not of one length, a multiple of the number of ranks; else see
    /// [`CollectiveError`].
    fn all_to_all<T: Element>(&self, q: &Q, src: Ref<'_, Q, T>, dst: Mut<'_, Q, T>) -> Result<(), CollectiveError>;

    /// Brings to every rank what rank `root` has at `range` of a buffer.
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
    #[error("rank {rank} is gone")]
    Gone {
        /// The rank.
        rank: usize,
    },
    /// A rank gave up after a failure of its own.
    #[error("rank {rank} gave up")]
    GaveUp {
        /// The rank.
        rank: usize,
    },
    /// A rank did not come to a call in time.
    #[error("rank {rank} did not come to {call} within {seconds} s")]
    Stalled {
        /// The rank.
        rank: usize,
        /// The call that others were at.
        call: String,
        /// How long they waited.
        seconds: u64,
    },
    /// A rank made another call than rank 0.
    #[error("rank {rank} disagrees: expected {expected}, got {got}")]
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
    #[error("expected views of one length, a multiple of {ranks}, got {src} and {dst} elements")]
    Parts {
        /// Ranks.
        ranks: usize,
        /// Elements of the view that is sent.
        src: usize,
        /// Elements of the view that is received.
        dst: usize,
    },
    /// There is no such rank.
    #[error("there are {ranks} ranks, got rank {got}")]
    Root {
        /// Ranks.
        ranks: usize,
        /// The rank asked for.
        got: usize,
    },
    /// The library that moves what ranks bring each other failed.
    #[error("{call} failed with {name} ({code}): {text}")]
    Library {
        /// The function.
        call: &'static str,
        /// Its result code.
        code: i32,
        /// The name of the code.
        name: &'static str,
        /// What the library says of it.
        text: String,
    },
    /// What carries the messages failed.
    #[error("{0}")]
    Transport(String),
    /// The device of this rank failed.
    #[error("the device of this rank failed")]
    Backend(#[from] BackendError),
}
