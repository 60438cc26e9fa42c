//! Proofs of many traces, on several devices at once.

use core::{fmt, iter::Fuse};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use stark_airs::{Columns, Statement};
use stark_prover::{ProofGraph, ProverError, Record, StarkOps};
use stark_verifier::{PcsConfig, Protocol};

use crate::{ProveError, StatementProof, StatementProver};

/// Proofs of a statement with many traces, on several devices at once.
///
/// Each queue proves on a thread of the caller's, with a [`StatementProver`] of its own and one submission for a proof where it
/// can record. It takes the next trace as soon as it is done with one, so fast ones prove more; a trace is asked for when it is
/// taken, so there is one in memory for each queue. What a device that fails was at is proven by others. Traces have labels, by
/// which the caller knows the proofs; those of several clients, who shall not wait for each other, come [`in_turn`](crate::in_turn).
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
    deal: Deal<L, T>,
}

/// A trace with its label.
type Labelled<L> = (L, Vec<Columns>);

/// The traces that are left.
struct Left<L, T> {
    traces: T,
    /// Those of queues that failed.
    returned: Vec<Labelled<L>>,
    /// Traces that are being proven, and may be returned.
    begun: usize,
}

/// The traces, dealt out to the queues.
struct Deal<L, T> {
    left: Mutex<Left<L, T>>,
    /// A trace that was being proven is not any more.
    ended: Condvar,
}

/// A place among those who prove.
struct Begun<'d, L, T: Iterator<Item = Labelled<L>>> {
    deal: &'d Deal<L, T>,
    /// What another queue has to prove.
    returned: Option<Labelled<L>>,
}

impl<L, T: Iterator<Item = Labelled<L>>> Deal<L, T> {
    fn lock(&self) -> MutexGuard<'_, Left<L, T>> {
        // What a panic left behind is whole.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next trace. While others are being proven, which may be returned, it waits for one; `None` if none is left.
    fn next(&self) -> Option<(Begun<'_, L, T>, Labelled<L>)> {
        let mut left = self.lock();
        loop {
            if let Some(trace) = left.next() {
                left.begun += 1;
                return Some((Begun { deal: self, returned: None }, trace));
            }
            if left.begun == 0 {
                return None;
            }
            left = self.ended.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<L, T: Iterator<Item = Labelled<L>>> Left<L, T> {
    fn next(&mut self) -> Option<Labelled<L>> {
        self.returned.pop().or_else(|| self.traces.next())
    }
}

impl<L, T: Iterator<Item = Labelled<L>>> Drop for Begun<'_, L, T> {
    fn drop(&mut self) {
        let mut left = self.deal.lock();
        left.begun -= 1;
        left.returned.extend(self.returned.take());
        self.deal.ended.notify_all();
    }
}

impl<'s, S: Statement, L, T: Iterator<Item = Labelled<L>>> ManyProofs<'s, S, L, Fuse<T>> {
    /// Proofs of `statement` with these parameters and each of `traces`, the columns of each component in stored order, with its
    /// label.
    pub fn new(
        protocol: Protocol,
        config: PcsConfig,
        statement: &'s S,
        traces: impl IntoIterator<Item = (L, Vec<Columns>), IntoIter = T>,
    ) -> Self {
        let traces = traces.into_iter().fuse();
        let left = Mutex::new(Left { traces, returned: Vec::new(), begun: 0 });
        Self { protocol, config, statement, deal: Deal { left, ended: Condvar::new() } }
    }

    /// Proves on this queue until no trace is left, and says how many it was done with. `each` gets the label of a trace and its
    /// proof, or why that trace has none.
    ///
    /// While other queues are at their last traces it waits, since they may fail.
    ///
    /// # Errors
    /// As [`StatementProver::new`], and [`ProverError::Backend`] if the device fails: the trace that it was at is left to others.
    pub fn prove_on<Q: StarkOps + Record>(
        &self,
        q: &Q,
        mut each: impl FnMut(L, Result<StatementProof, ProveError>),
    ) -> Result<usize, ProveError> {
        let mut prover = StatementProver::new(q, self.protocol, self.config, self.statement)?;
        let (mut graph, mut done) = (ProofGraph::new(), 0);
        while let Some((mut begun, (label, trace))) = self.deal.next() {
            match prover.prove_replayed(q, &mut graph, &trace) {
                Err(failure @ ProveError::Prover(ProverError::Backend(_))) => {
                    begun.returned = Some((label, trace));
                    return Err(failure);
                }
                proven => each(label, proven),
            }
            done += 1;
        }
        Ok(done)
    }

    /// The traces that no queue proved, with their labels: some if all devices failed.
    pub fn into_rest(self) -> impl Iterator<Item = (L, Vec<Columns>)> {
        let mut left = self.deal.left.into_inner().unwrap_or_else(PoisonError::into_inner);
        core::iter::from_fn(move || left.next())
    }
}

impl<S: fmt::Debug, L, T> fmt::Debug for ManyProofs<'_, S, L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManyProofs").field("statement", &self.statement).finish_non_exhaustive()
    }
}
