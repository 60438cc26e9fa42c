//! Ranks of queues whose backends are chosen at run time.

use core::ops::Range;

#[cfg(feature = "cuda")]
use backend_api::BackendError;
use backend_api::{BufferRef as _, Collective, CollectiveError, Element, Ranks};
use collective::{Local, Staged};
#[cfg(feature = "cuda")]
use cuda_backend::{Link, NcclRank, PeerRank};

use super::{AnyBuf, AnyMut, AnyQueue, AnyRef, span::traced};
use crate::CollectiveKind;

/// The place of an [`AnyQueue`] in a group of ranks of this process.
///
/// See [`ranks`](crate::ranks).
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyRank {
    /// What ranks bring each other passes through host memory.
    Host(Staged<Local>),
    /// Ranks copy from each other's devices.
    #[cfg(feature = "cuda")]
    Peer(PeerRank),
    /// NCCL carries data between the ranks.
    #[cfg(feature = "cuda")]
    Nccl(NcclRank<Local>),
}

impl AnyRank {
    /// The links between all ranks, if they copy from each other's devices.
    ///
    /// The links of the first rank to each other rank come first, then the links of the second, and
    /// so on.
    #[cfg(feature = "cuda")]
    #[must_use]
    pub fn links(&self) -> &[Link] {
        match self {
            Self::Host(_) | Self::Nccl(_) => &[],
            Self::Peer(rank) => rank.links(),
        }
    }

    /// How it reaches the others.
    #[must_use]
    pub fn kind(&self) -> CollectiveKind {
        match self {
            Self::Host(_) => CollectiveKind::Host,
            #[cfg(feature = "cuda")]
            Self::Peer(_) => CollectiveKind::Peer,
            #[cfg(feature = "cuda")]
            Self::Nccl(_) => CollectiveKind::Nccl,
        }
    }

    /// Ends the group: the queue or a view is not of the backend that the rank is of.
    #[cfg(feature = "cuda")]
    fn mixed(&self, op: &'static str) -> Result<(), CollectiveError> {
        self.give_up();
        Err(BackendError::MixedBackend { op }.into())
    }
}

impl Ranks for AnyRank {
    fn rank(&self) -> usize {
        match self {
            Self::Host(rank) => rank.rank(),
            #[cfg(feature = "cuda")]
            Self::Peer(rank) => rank.rank(),
            #[cfg(feature = "cuda")]
            Self::Nccl(rank) => rank.rank(),
        }
    }

    fn ranks(&self) -> usize {
        match self {
            Self::Host(rank) => rank.ranks(),
            #[cfg(feature = "cuda")]
            Self::Peer(rank) => rank.ranks(),
            #[cfg(feature = "cuda")]
            Self::Nccl(rank) => rank.ranks(),
        }
    }

    fn give_up(&self) {
        match self {
            Self::Host(rank) => rank.give_up(),
            #[cfg(feature = "cuda")]
            Self::Peer(rank) => rank.give_up(),
            #[cfg(feature = "cuda")]
            Self::Nccl(rank) => rank.give_up(),
        }
    }

    fn sent_bytes(&self) -> Vec<u64> {
        match self {
            Self::Host(rank) => rank.sent_bytes(),
            #[cfg(feature = "cuda")]
            Self::Peer(rank) => rank.sent_bytes(),
            #[cfg(feature = "cuda")]
            Self::Nccl(rank) => rank.sent_bytes(),
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
                #[cfg(feature = "cuda")]
                Self::Peer(rank) => match (q, buffer) {
                    (AnyQueue::Cuda(q), AnyBuf::Cuda(buffer)) => rank.all_gather(q, buffer, shares),
                    _ => self.mixed("all_gather"),
                },
                #[cfg(feature = "cuda")]
                Self::Nccl(rank) => match (q, buffer) {
                    (AnyQueue::Cuda(q), AnyBuf::Cuda(buffer)) => rank.all_gather(q, buffer, shares),
                    _ => self.mixed("all_gather"),
                },
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
                #[cfg(feature = "cuda")]
                Self::Peer(rank) => match (q, src, dst) {
                    (AnyQueue::Cuda(q), AnyRef::Cuda(src), AnyMut::Cuda(dst)) => rank.all_to_all(q, src, dst),
                    _ => self.mixed("all_to_all"),
                },
                #[cfg(feature = "cuda")]
                Self::Nccl(rank) => match (q, src, dst) {
                    (AnyQueue::Cuda(q), AnyRef::Cuda(src), AnyMut::Cuda(dst)) => rank.all_to_all(q, src, dst),
                    _ => self.mixed("all_to_all"),
                },
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
                #[cfg(feature = "cuda")]
                Self::Peer(rank) => match (q, buffer) {
                    (AnyQueue::Cuda(q), AnyBuf::Cuda(buffer)) => rank.broadcast(q, root, buffer, range),
                    _ => self.mixed("broadcast"),
                },
                #[cfg(feature = "cuda")]
                Self::Nccl(rank) => match (q, buffer) {
                    (AnyQueue::Cuda(q), AnyBuf::Cuda(buffer)) => rank.broadcast(q, root, buffer, range),
                    _ => self.mixed("broadcast"),
                },
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
                #[cfg(feature = "cuda")]
                Self::Peer(rank) => match q {
                    AnyQueue::Cuda(q) => rank.barrier(q),
                    AnyQueue::Cpu(_) => self.mixed("barrier"),
                },
                #[cfg(feature = "cuda")]
                Self::Nccl(rank) => match q {
                    AnyQueue::Cuda(q) => rank.barrier(q),
                    AnyQueue::Cpu(_) => self.mixed("barrier"),
                },
            }
        )
    }
}
