//! Ranks of queues whose backends are chosen at run time.

use core::ops::Range;

use backend_api::{BufferRef as _, Collective, CollectiveError, Element, Ranks};
use collective::{Local, Staged};

use super::{AnyBuf, AnyMut, AnyQueue, AnyRef, span::traced};

/// The place of an [`AnyQueue`] in a group of ranks of this process. See [`ranks`].
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyRank {
    /// What ranks bring each other passes through host memory.
    Host(Staged<Local>),
}

/// The places of queues in one group, of each queue one, in their order: each belongs to a thread of its own, with its queue.
///
/// # Errors
/// What the devices report.
pub fn ranks(queues: &[AnyQueue]) -> Result<Vec<AnyRank>, CollectiveError> {
    Ok(Local::group(queues.len()).into_iter().map(AnyRank::Host).collect())
}

impl Ranks for AnyRank {
    fn rank(&self) -> usize {
        match self {
            Self::Host(rank) => rank.rank(),
        }
    }

    fn ranks(&self) -> usize {
        match self {
            Self::Host(rank) => rank.ranks(),
        }
    }

    fn give_up(&self) {
        match self {
            Self::Host(rank) => rank.give_up(),
        }
    }

    fn sent_bytes(&self) -> Vec<u64> {
        match self {
            Self::Host(rank) => rank.sent_bytes(),
        }
    }
}

impl Collective<AnyQueue> for AnyRank {
    fn all_gather<T: Element>(
        &self,
        q: &AnyQueue,
        buffer: &mut AnyBuf<T>,
        shares: &[Range<usize>],
    ) -> Result<(), CollectiveError> {
        traced!(
            q,
            "all_gather",
            [bytes = shares.iter().map(ExactSizeIterator::len).sum::<usize>() * size_of::<T>()],
            match self {
                Self::Host(rank) => rank.all_gather(q, buffer, shares),
            }
        )
    }

    fn all_to_all<T: Element>(
        &self,
        q: &AnyQueue,
        src: AnyRef<'_, T>,
        dst: AnyMut<'_, T>,
    ) -> Result<(), CollectiveError> {
        traced!(
            q,
            "all_to_all",
            [bytes = src.len() * size_of::<T>()],
            match self {
                Self::Host(rank) => rank.all_to_all(q, src, dst),
            }
        )
    }

    fn broadcast<T: Element>(
        &self,
        q: &AnyQueue,
        root: usize,
        buffer: &mut AnyBuf<T>,
        range: Range<usize>,
    ) -> Result<(), CollectiveError> {
        traced!(
            q,
            "broadcast",
            [bytes = range.len() * size_of::<T>()],
            match self {
                Self::Host(rank) => rank.broadcast(q, root, buffer, range),
            }
        )
    }

    fn barrier(&self, q: &AnyQueue) -> Result<(), CollectiveError> {
        traced!(
            q,
            "barrier",
            [],
            match self {
                Self::Host(rank) => rank.barrier(q),
            }
        )
    }
}
