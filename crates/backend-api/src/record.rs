//! Sequences of ops that are recorded once and replayed.

use crate::{BackendError, Queue};

/// A queue whose device can record a sequence of ops once and run it again as one submission.
pub trait Record: Queue {
    /// The recorded ops and the memory they use. Uninhabited where the device cannot record.
    type Graph;

    /// Records what `body` submits to the queue it is given, without running it.
    ///
    /// Domain calls can be used as they are: the error type is theirs.
    ///
    /// `None` if the device cannot record this body, for example because it waits: the caller then
    /// runs it as usual. The graph keeps every buffer that it uses alive. A buffer that `body`
    /// allocates may share its memory with others that were dropped before: after a replay its
    /// content is the data that the graph wrote to it, or arbitrary.
    ///
    /// # Errors
    /// Errors of `body` that are unrelated to recording, and a lost device.
    fn record<E: From<BackendError>>(
        &self,
        body: impl FnOnce(&Self) -> Result<(), E>,
    ) -> Result<Option<Self::Graph>, E>;

    /// Submits a recorded graph to this queue.
    ///
    /// # Errors
    /// [`BackendError::MixedBackend`] if the graph was recorded on another device.
    fn replay(&self, graph: &Self::Graph) -> Result<(), BackendError>;
}
