//! Copies of a warp by `cp.async` that no wait has covered yet.

use crate::exec::lanes::WARP;

/// A copy on its way.
pub(in crate::exec::run) struct PendingCopy {
    pub(in crate::exec::run) lane: usize,
    /// Number of the group within its lane.
    pub(in crate::exec::run) group: u32,
    pub(in crate::exec::run) target: u64,
    pub(in crate::exec::run) bytes: u8,
    pub(in crate::exec::run) data: [u8; 16],
}

/// Unfinished copies of a warp.
#[derive(Default)]
pub(in crate::exec::run) struct AsyncCopies {
    pub(in crate::exec::run) pending: Vec<PendingCopy>,
    /// Groups committed so far, per lane.
    pub(in crate::exec::run) committed: [u32; WARP],
}
