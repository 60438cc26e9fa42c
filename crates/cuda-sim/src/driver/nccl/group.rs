//! Groups of calls: between start and end nothing blocks and nothing is launched.

use std::cell::RefCell;

use cuda_loader::nccl::Status;

use super::operation::NcclOperation;
use crate::driver::handle::Id;

/// The calls of a thread since it began a group.
#[derive(Debug, Default)]
pub(super) struct CallGroup {
    depth: u32,
    pub(super) operations: Vec<NcclOperation>,
    /// Communicators that block and are being made.
    pub(super) joining: Vec<Id>,
    /// The first failure within.
    pub(super) failure: Option<Status>,
}

thread_local! {
    static GROUP: RefCell<CallGroup> = RefCell::default();
}

/// Begins a group, or one within it.
pub(super) fn begin() {
    GROUP.with_borrow_mut(|group| group.depth += 1);
}

/// Ends the innermost group; what was called since the outermost began, if it is that one.
///
/// # Errors
/// `INVALID_USAGE` if none was begun.
pub(super) fn end() -> Result<Option<CallGroup>, Status> {
    GROUP.with_borrow_mut(|group| match group.depth {
        0 => Err(Status::INVALID_USAGE),
        1 => Ok(Some(std::mem::take(group))),
        _ => {
            group.depth -= 1;
            Ok(None)
        }
    })
}

/// Whether this thread is within a group.
pub(super) fn is_open() -> bool {
    GROUP.with_borrow(|group| group.depth > 0)
}

/// Changes the group that this thread is within.
pub(super) fn with(change: impl FnOnce(&mut CallGroup)) {
    GROUP.with_borrow_mut(change);
}

/// Notes a failure, which the end of the group will answer.
pub(super) fn fail(status: Status) {
    with(|group| {
        if group.depth > 0 {
            group.failure.get_or_insert(status);
        }
    });
}
