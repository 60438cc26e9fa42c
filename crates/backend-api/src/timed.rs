//! Times of work as the device measured them.

use crate::{BackendError, Queue};

/// A queue whose device measures when work was done.
///
/// A mark comes after all work that its queue holds when the mark is made, and its time is when
/// that work was done. This is the device's time; the host may be far ahead of it.
pub trait Timed: Queue {
    /// A point in the work of a queue.
    type Mark: Send + Sync + 'static;

    /// A mark after all work that the queue holds now. Does not wait.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] on a queue that records, and errors that the device reports.
    fn mark(&self) -> Result<Self::Mark, BackendError>;

    /// Nanoseconds from one mark to another; negative if `to` was passed first.
    ///
    /// The marks may be of any two queues of this device. Waits for both.
    ///
    /// # Errors
    /// [`BackendError::MixedBackend`] for a mark of another device, and whatever the work before a
    /// mark failed with.
    fn elapsed_ns(&self, from: &Self::Mark, to: &Self::Mark) -> Result<i64, BackendError>;
}
