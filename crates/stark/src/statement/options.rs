//! Options of one proof.

use core::fmt;

use backend_api::Record;

use crate::{protocol::stage::Stage, recording::graph::ProofGraph};

/// Options of one proof.
///
/// [`StatementProver::prove_with`](crate::StatementProver::prove_with) takes them. Without options,
/// the work is submitted op by op and the host waits once, for the proof.
pub struct ProveOptions<'o, Q: Record> {
    pub(super) watch: Option<&'o mut dyn FnMut(Stage)>,
    pub(super) graph: Option<&'o mut ProofGraph<Q>>,
}

impl<'o, Q: Record> ProveOptions<'o, Q> {
    /// No options.
    #[must_use]
    pub const fn new() -> Self {
        Self { watch: None, graph: None }
    }

    /// Calls `watch` as each stage begins, when the device has completed the earlier stages.
    ///
    /// The work is submitted op by op, stage by stage: a graph is neither recorded nor replayed.
    #[must_use]
    pub fn watching(self, watch: &'o mut dyn FnMut(Stage)) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// Submits all work after the upload as one submission, which `graph` stores.
    ///
    /// The submission includes trace generation. It is recorded at the second proof, if the device
    /// can record.
    #[must_use]
    pub fn replayed(self, graph: &'o mut ProofGraph<Q>) -> Self {
        Self { graph: Some(graph), ..self }
    }
}

impl<Q: Record> Default for ProveOptions<'_, Q> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Q: Record> fmt::Debug for ProveOptions<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { watch, graph } = self;
        f.debug_struct("ProveOptions").field("is_watched", &watch.is_some()).field("graph", graph).finish()
    }
}
