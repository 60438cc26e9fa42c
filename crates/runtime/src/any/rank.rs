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

/// Runs a call on the rank inside.
///
/// Ranks `on_devices` take queues and views of a GPU; others end the group as mixed.
macro_rules! any_rank {
    ($any:expr, $rank:ident => $run:expr) => {
        match $any {
            AnyRank::Host($rank) => $run,
            #[cfg(feature = "cuda")]
            AnyRank::Peer($rank) => $run,
            #[cfg(feature = "cuda")]
            AnyRank::Nccl($rank) => $run,
        }
    };
    ($any:expr, $rank:ident => $run:expr, on_devices $op:literal, [$($value:ident => $of:ident),+]) => {
        match $any {
            AnyRank::Host($rank) => $run,
            #[cfg(feature = "cuda")]
            AnyRank::Peer($rank) => match ($($value,)+) {
                ($($of::Cuda($value),)+) => $run,
                _ => $any.mixed($op),
            },
            #[cfg(feature = "cuda")]
            AnyRank::Nccl($rank) => match ($($value,)+) {
                ($($of::Cuda($value),)+) => $run,
                _ => $any.mixed($op),
            },
        }
    };
}

impl Ranks for AnyRank {
    fn rank(&self) -> usize {
        any_rank!(self, rank => rank.rank())
    }

    fn ranks(&self) -> usize {
        any_rank!(self, rank => rank.ranks())
    }

    fn give_up(&self) {
        any_rank!(self, rank => rank.give_up())
    }

    fn sent_bytes(&self) -> Vec<u64> {
        any_rank!(self, rank => rank.sent_bytes())
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
            any_rank!(
                self,
                rank => rank.all_gather(q, buffer, shares),
                on_devices "all_gather", [q => AnyQueue, buffer => AnyBuf]
            )
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
            any_rank!(
                self,
                rank => rank.all_to_all(q, src, dst),
                on_devices "all_to_all", [q => AnyQueue, src => AnyRef, dst => AnyMut]
            )
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
            any_rank!(
                self,
                rank => rank.broadcast(q, root, buffer, range),
                on_devices "broadcast", [q => AnyQueue, buffer => AnyBuf]
            )
        )
    }

    fn barrier(&self, q: &AnyQueue) -> Result<(), CollectiveError> {
        traced!(q, "barrier", [], any_rank!(self, rank => rank.barrier(q), on_devices "barrier", [q => AnyQueue]))
    }
}
