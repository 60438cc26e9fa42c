//! What carries messages between ranks.

use core::ops::Deref;

use backend_api::CollectiveError;

use crate::Call;

/// The message of a rank in one exchange. Nothing is sent to itself.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// The same words to every other rank.
    Same(&'a [u32]),
    /// Words for each rank; those for itself are left where they are.
    Each(&'a [&'a [u32]]),
}

impl<'a> Message<'a> {
    /// The words for a rank.
    #[must_use]
    pub fn to(self, rank: usize) -> &'a [u32] {
        match self {
            Self::Same(words) => words,
            Self::Each(parts) => parts[rank],
        }
    }
}

/// What carries messages between ranks.
///
/// Once an exchange fails on one rank, every exchange of every rank fails.
pub trait Transport: Send + Sync {
    /// Words that came from a rank.
    type Received: Deref<Target = [u32]>;

    /// The number of this rank.
    fn rank(&self) -> usize;

    /// How many ranks there are.
    fn ranks(&self) -> usize;

    /// Sends a message and returns the message received from each rank.
    ///
    /// The caller ignores the entry of this rank. Returns when all ranks have reached the exchange
    /// with the same `call`.
    ///
    /// # Errors
    /// See [`CollectiveError`].
    fn exchange(&self, call: &Call, message: Message<'_>) -> Result<Vec<Self::Received>, CollectiveError>;

    /// Why exchanges fail from now on, as far as this rank has been told.
    ///
    /// Does not wait. A transport that learns of failures only by an exchange always answers
    /// `None`.
    fn failure(&self) -> Option<CollectiveError> {
        None
    }

    /// Makes every later exchange of every rank fail with this error.
    ///
    /// If an exchange has failed before, its error is kept.
    fn fail(&self, why: CollectiveError);
}
