//! A second stream of work on one device.

use crate::{BackendError, Queue};

/// A queue whose device can run a second, concurrent stream of work.
///
/// Work on two queues of one device may overlap. A buffer that two queues use stays correct without
/// further care: an op waits for earlier ops that wrote its inputs or that used its outputs.
/// [`join`](Self::join) orders everything else.
pub trait Fork: Queue {
    /// A second in-order queue on the device, with the same budget.
    ///
    /// Its work runs after all work that `self` holds now.
    ///
    /// # Errors
    /// Errors of the device if it cannot create another queue.
    fn fork(&self) -> Result<Self, BackendError>;

    /// Lets later work on `self` run after all work that `branch` holds now.
    ///
    /// Does not wait on the host.
    ///
    /// # Errors
    /// [`BackendError::MixedBackend`] if the queues are not of one device.
    fn join(&self, branch: &Self) -> Result<(), BackendError>;
}
