//! A capture of streams into a graph, as data.

use std::thread::ThreadId;

use litemap::LiteMap;

use super::graph::Graph;
use crate::driver::handle::Id;

/// Number of a capture.
pub(in crate::driver) type CaptureId = u64;

/// A capture in progress.
#[derive(Debug)]
pub(in crate::driver) struct Capture {
    pub(in crate::driver) context: Id,
    /// The stream it began on.
    pub(in crate::driver) origin: Id,
    pub(in crate::driver) thread: ThreadId,
    pub(in crate::driver) mode: u32,
    pub(in crate::driver) invalid: bool,
    pub(in crate::driver) graph: Graph,
    /// The last nodes of each stream that takes part.
    pub(in crate::driver) tails: LiteMap<Id, Vec<Id>>,
}
