//! Proofs of many traces, on several devices at once.

use std::{
    mem,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use stark_airs::{Columns, Statement};
use stark_prover::{ProofGraph, ProverError, Record, StarkOps};
use stark_verifier::{PcsConfig, Protocol};

use crate::{ProveError, StatementProof, StatementProver};

/// What a queue did of many proofs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Traces that it was done with.
    pub traces: usize,
    /// Why it took no more of them, if it failed.
    pub failure: Option<ProveError>,
}

/// The traces that are left.
struct Left<T> {
    traces: T,
    /// Traces that were taken from there.
    taken: usize,
    /// Those of queues that failed, with their numbers.
    returned: Vec<(usize, Vec<Columns>)>,
    /// Traces that are being proven, and may be returned.
    begun: usize,
}

/// The traces, dealt out to the queues.
struct Deal<T> {
    left: Mutex<Left<T>>,
    /// A trace that was being proven is not any more.
    ended: Condvar,
}

/// A trace that is being proven.
struct Begun<'d, T: Iterator<Item = Vec<Columns>>> {
    deal: &'d Deal<T>,
    number: usize,
    trace: Vec<Columns>,
    /// Whether another queue has to prove it.
    is_returned: bool,
}

impl<T: Iterator<Item = Vec<Columns>>> Deal<T> {
    fn lock(&self) -> MutexGuard<'_, Left<T>> {
        // What a panic left behind is whole.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next trace. While others are being proven, which may be returned, it waits for one; `None` if none is left.
    fn next(&self) -> Option<Begun<'_, T>> {
        let mut left = self.lock();
        loop {
            if let Some((number, trace)) = left.next() {
                left.begun += 1;
                return Some(Begun { deal: self, number, trace, is_returned: false });
            }
            if left.begun == 0 {
                return None;
            }
            left = self.ended.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<T: Iterator<Item = Vec<Columns>>> Left<T> {
    fn next(&mut self) -> Option<(usize, Vec<Columns>)> {
        if let Some(returned) = self.returned.pop() {
            return Some(returned);
        }
        let trace = self.traces.next()?;
        self.taken += 1;
        Some((self.taken - 1, trace))
    }
}

impl<T: Iterator<Item = Vec<Columns>>> Drop for Begun<'_, T> {
    fn drop(&mut self) {
        let mut left = self.deal.lock();
        left.begun -= 1;
        if self.is_returned {
            left.returned.push((self.number, mem::take(&mut self.trace)));
        }
        self.deal.ended.notify_all();
    }
}

/// Proves `statement` with each of `traces` on all queues at once, each by a thread and a [`StatementProver`] of its own, and with
/// one submission for a proof where it can record. A queue takes the next trace as soon as it is done with one, so fast ones prove
/// more; a trace is asked for when it is taken, so there is one in memory for each queue.
///
/// `each` gets the number of the trace and its proof, or why that trace has none, as they come. A queue whose device fails
/// takes no more traces, and others prove the one that it was at. The shares are in the order of the queues.
///
/// ```
/// use stark::{M31, PcsConfig, Protocol, prove_many};
/// use stark_airs::WideFibonacci;
///
/// let queues = [runtime::cpu()?, runtime::cpu()?]; // or one for each device
/// let air = WideFibonacci::new(4, 10)?;
/// let trace = |seed| air.trace(&[[1, seed].map(M31::from_u32); 16]);
/// let traces = (0..5).map(trace).collect::<Result<Vec<_>, _>>()?;
/// let mut proofs = vec![None; 5];
/// let shares = prove_many(&queues, Protocol::V2_3, PcsConfig::default(), &air, traces, |number, proof| {
///     proofs[number] = proof.ok();
/// })?;
/// assert!(proofs.iter().all(Option::is_some));
/// assert_eq!(shares.iter().map(|share| share.traces).sum::<usize>(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ProveError::NoQueue`] without a queue, and why a queue failed if all did before the last trace was proven.
pub fn prove_many<Q, S, T, E>(
    queues: &[Q],
    protocol: Protocol,
    config: PcsConfig,
    statement: &S,
    traces: T,
    each: E,
) -> Result<Vec<Share>, ProveError>
where
    Q: StarkOps + Record + Sync,
    S: Statement + Sync,
    T: IntoIterator<Item = Vec<Columns>, IntoIter: Send>,
    E: FnMut(usize, Result<StatementProof, ProveError>) + Send,
{
    let traces = traces.into_iter().fuse();
    let deal =
        Deal { left: Mutex::new(Left { traces, taken: 0, returned: Vec::new(), begun: 0 }), ended: Condvar::new() };
    let each = Mutex::new(each);
    let work = |q: &Q| {
        let mut share = Share::default();
        share.failure = prove_share(q, protocol, config, statement, &deal, |number, proof| {
            share.traces += 1;
            (each.lock().unwrap_or_else(PoisonError::into_inner))(number, proof);
        })
        .err();
        share
    };
    let shares: Vec<Share> = thread::scope(|scope| {
        let workers: Vec<_> = queues.iter().map(|q| scope.spawn(|| work(q))).collect();
        let joined = workers.into_iter().map(thread::ScopedJoinHandle::join);
        joined.map(|share| share.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    if deal.lock().next().is_none() {
        return Ok(shares);
    }
    Err(shares.into_iter().rev().find_map(|share| share.failure).unwrap_or(ProveError::NoQueue))
}

/// Proves traces on one queue, until none is left or its device fails.
fn prove_share<Q: StarkOps + Record, S: Statement, T: Iterator<Item = Vec<Columns>>>(
    q: &Q,
    protocol: Protocol,
    config: PcsConfig,
    statement: &S,
    deal: &Deal<T>,
    mut each: impl FnMut(usize, Result<StatementProof, ProveError>),
) -> Result<(), ProveError> {
    let mut prover = StatementProver::new(q, protocol, config, statement)?;
    let mut graph = ProofGraph::new();
    while let Some(mut begun) = deal.next() {
        match prover.prove_replayed(q, &mut graph, &begun.trace) {
            Err(failure @ ProveError::Prover(ProverError::Backend(_))) => {
                begun.is_returned = true;
                return Err(failure);
            }
            proven => each(begun.number, proven),
        }
    }
    Ok(())
}
