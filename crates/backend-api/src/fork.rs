//! A second stream of work on one device.

use crate::{BackendError, Queue};

/// A queue whose device can run a second stream of work beside it.
///
/// Work on two queues of one device may overlap. A buffer that two queues use stays correct without further care: an op
/// waits for the earlier ops that wrote what it reads, or used what it writes. [`join`](Self::join) orders everything
/// else.
pub trait Fork: Queue {
    /// A second in-order queue on the device, with the same budget. Its work runs after all work that `self` holds now.
    ///
    /// # Errors
    /// What the device reports if it cannot give another queue.
    fn fork(&self) -> Result<Self, BackendError>;

    /// Lets later work on `self` run after all work that `branch` holds now. Does not wait on the host.
    ///
    /// # Errors
    /// [`BackendError::MixedBackend`] if the queues are not of one device.
    fn join(&self, branch: &Self) -> Result<(), BackendError>;
}
