//! Proofs of many traces, on several devices at once.

use core::{fmt, iter::Fuse};

use backend_api::{Record, ops::StarkOps};
use stark_airs::{Statement, TraceColumns};
use stark_verifier::{PcsConfig, Protocol};

use super::{
    error::ProveError, jobs::Jobs, options::ProveOptions, proof::StatementProof, prover::StatementProver,
    trace_source::TraceSource,
};
use crate::{error::ProverError, recording::graph::ProofGraph};

/// Proofs of a statement with many traces, on several devices at once.
///
/// Proofs of many statements are [`Jobs`]. Each queue proves on one of the caller's threads, with a
/// separate [`StatementProver`] and one submission per proof if it can record. It takes the next
/// trace when it has finished one, so faster devices prove more; traces are pulled from the
/// iterator one at a time, so one per queue is in memory. The trace of a device that fails is
/// proven by another device. Traces have labels, which identify their proofs. Traces of several
/// clients, who should not wait for each other, are interleaved by [`in_turn`](crate::in_turn).
///
/// ```
/// use std::{sync::Mutex, thread};
///
/// use stark::{M31, ManyProofs, PcsConfig, Protocol};
/// use stark_airs::WideFibonacci;
///
/// let queues = [runtime::cpu()?, runtime::cpu()?]; // or one for each device
/// let air = WideFibonacci::new(4, 10)?;
/// let trace = |seed| air.trace(&[[1, seed].map(M31::from_u32); 16]);
/// let traces = (0..5).map(trace).collect::<Result<Vec<_>, _>>()?;
///
/// let many = ManyProofs::new(Protocol::V2_3, PcsConfig::default(), &air, traces.into_iter().enumerate());
/// let proofs = Mutex::new(vec![None; 5]);
/// thread::scope(|scope| {
///     for q in &queues {
///         scope.spawn(|| many.prove_on(q, |number, proof| proofs.lock().unwrap()[number] = proof.ok()));
///     }
/// });
/// assert!(proofs.into_inner()?.iter().all(Option::is_some));
/// assert_eq!(many.into_rest().count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ManyProofs<'s, S, L, T> {
    protocol: Protocol,
    config: PcsConfig,
    statement: &'s S,
    traces: Jobs<L, Vec<TraceColumns>, T>,
}

impl<'s, S: Statement, L, T: Iterator<Item = (L, Vec<TraceColumns>)>> ManyProofs<'s, S, L, Fuse<T>> {
    /// Proofs of `statement` with these parameters for each of `traces`.
    ///
    /// A trace has the columns of each component in stored order, and a label.
    pub fn new(
        protocol: Protocol,
        config: PcsConfig,
        statement: &'s S,
        traces: impl IntoIterator<Item = (L, Vec<TraceColumns>), IntoIter = T>,
    ) -> Self {
        Self { protocol, config, statement, traces: Jobs::new(traces) }
    }

    /// Proves on this queue until no trace is left, and returns the number of traces done.
    ///
    /// `each` gets the label of a trace and its proof, or the error of a trace without one.
    ///
    /// While other queues are at their last traces it waits, since they may fail.
    ///
    /// # Errors
    /// As [`StatementProver::new`], and [`ProverError::Backend`] if the device fails: the trace
    /// that it was at is left to others.
    pub fn prove_on<Q: StarkOps + Record>(
        &self,
        q: &Q,
        each: impl FnMut(L, Result<StatementProof, ProveError>),
    ) -> Result<usize, ProveError> {
        let mut prover = StatementProver::new(q, self.protocol, self.config, self.statement)?;
        let mut graph = ProofGraph::new();
        let prove = |trace: &Vec<TraceColumns>| {
            let options = ProveOptions::new().replayed(&mut graph);
            match prover.prove_with(q, &TraceSource::columns(trace), options) {
                Err(failure @ ProveError::Prover(ProverError::Backend(_))) => Err(failure),
                proven => Ok(proven),
            }
        };
        self.traces.work(prove, each)
    }

    /// The traces that no queue proved, with their labels: some if all devices failed.
    pub fn into_rest(self) -> impl Iterator<Item = (L, Vec<TraceColumns>)> {
        self.traces.into_rest()
    }
}

impl<S: fmt::Debug, L, T> fmt::Debug for ManyProofs<'_, S, L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManyProofs").field("statement", &self.statement).finish_non_exhaustive()
    }
}
