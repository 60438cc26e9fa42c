//! Communicators of NCCL, and what their ranks have brought to each other.

use std::collections::VecDeque;

use cuda_loader::nccl;
use litemap::LiteMap;

use super::queue::{TaskId, VectorClock, Who};
use crate::driver::handle::Id;

/// Ranks that found each other by one unique id.
#[derive(Debug, Default)]
pub(in crate::driver) struct Clique {
    /// The communicator of each rank that has joined; one place per rank once one has.
    pub(in crate::driver) members: Vec<Option<Id>>,
    /// Why no rank of it can be used.
    pub(in crate::driver) refused: Option<nccl::Status>,
    /// Transfers that wait for their other half.
    ///
    /// The key is the rank that sends, the rank that receives, and whether the transfers belong to
    /// collectives.
    pub(in crate::driver) lanes: LiteMap<(usize, usize, bool), TransferLane>,
}

/// What one rank has for another, in order. One of the two is empty.
#[derive(Debug, Default)]
pub(in crate::driver) struct TransferLane {
    pub(in crate::driver) sent: VecDeque<TransferSide>,
    pub(in crate::driver) awaited: VecDeque<TransferSide>,
}

/// One side of a transfer.
#[derive(Clone, Debug)]
pub(in crate::driver) struct TransferSide {
    pub(in crate::driver) comm: Id,
    /// The function, its root, and the bytes: the other side has to have the same.
    pub(in crate::driver) what: What,
    pub(in crate::driver) address: u64,
    pub(in crate::driver) device: u32,
    pub(in crate::driver) context: Id,
    pub(in crate::driver) stream: Id,
    /// Where the operation begins on its stream: transfers come after it.
    pub(in crate::driver) arrive: TaskId,
    /// Where it ends: it comes after all its transfers.
    pub(in crate::driver) leave: TaskId,
    /// Which task that is in its line of work.
    pub(in crate::driver) who: Who,
    /// What comes before the operation.
    pub(in crate::driver) clock: VectorClock,
}

/// The operation that a transfer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct What {
    pub(in crate::driver) name: &'static str,
    pub(in crate::driver) root: i32,
    pub(in crate::driver) bytes: u64,
}

/// The place of one rank.
#[derive(Debug)]
pub(in crate::driver) struct Communicator {
    /// The clique, by the number in its unique id.
    pub(in crate::driver) clique: u64,
    pub(in crate::driver) rank: usize,
    pub(in crate::driver) context: Id,
    pub(in crate::driver) device: u32,
    /// Whether calls return before they are done.
    pub(in crate::driver) non_blocking: bool,
    /// The asynchronous error.
    pub(in crate::driver) error: nccl::Status,
    /// Questions that are still answered with `ncclInProgress`.
    pub(in crate::driver) busy: u32,
    pub(in crate::driver) finalized: bool,
    /// The ends of its operations.
    pub(in crate::driver) leaves: Vec<TaskId>,
}
