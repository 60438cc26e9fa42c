//! Jobs distributed to several devices.

use core::{fmt, iter::Fuse};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs distributed to several devices, such as proofs of any statements.
///
/// [`ManyProofs`](crate::ManyProofs) proves a single statement.
///
/// Each device works on one of the caller's threads. It takes the next job when it has finished
/// one, so faster devices do more; jobs are pulled from the iterator one at a time. The job of a
/// device that fails is done by another device. Jobs have labels, which identify their results.
/// Jobs of several clients, who should not wait for each other, are interleaved by
/// [`in_turn`](crate::in_turn).
///
/// ```
/// use std::{sync::Mutex, thread};
///
/// use backend_api::BackendError;
/// use stark::{TraceColumns, Jobs, M31, PcsConfig, Protocol, ProveError, ProverError, StatementProver};
/// use stark_airs::{StateMachine, WideFibonacci};
///
/// enum Job {
///     Steps(StateMachine),
///     Fibonacci(WideFibonacci, Vec<TraceColumns>),
/// }
///
/// let queues = [runtime::cpu()?, runtime::cpu()?]; // or one for each device
/// let air = WideFibonacci::new(4, 10)?;
/// let trace = air.trace(&[[1, 3].map(M31::from_u32); 16])?;
/// let jobs = Jobs::new([
///     ("steps", Job::Steps(StateMachine::new([4, 4], [5, 7].map(M31::from_u32))?)),
///     ("other steps", Job::Steps(StateMachine::new([5, 3], [1, 2].map(M31::from_u32))?)),
///     ("fibonacci", Job::Fibonacci(air, trace)),
/// ]);
/// let (protocol, config) = (Protocol::V2_3, PcsConfig::default());
/// let proofs = Mutex::new(Vec::new());
/// thread::scope(|scope| {
///     for q in &queues {
///         let prove = move |job: &Job| match job {
///             Job::Steps(machine) => StatementProver::new(q, protocol, config, machine)?.prove_from(q, machine),
///             Job::Fibonacci(air, trace) => StatementProver::new(q, protocol, config, air)?.prove(q, trace),
///         };
///         let (jobs, proofs) = (&jobs, &proofs);
///         scope.spawn(move || {
///             let work = |job: &Job| match prove(job) {
///                 // What a device has no room for is that job's failure alone.
///                 Err(lost @ ProveError::Prover(ProverError::Backend(BackendError::DeviceLost { .. }))) => Err(lost),
///                 proven => Ok(proven),
///             };
///             jobs.work(work, |label, proof| proofs.lock().unwrap().push((label, proof)))
///         });
///     }
/// });
/// let proofs = proofs.into_inner()?;
/// assert!(proofs.len() == 3 && proofs.iter().all(|(_, proof)| proof.is_ok()));
/// assert_eq!(jobs.into_rest().count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Jobs<L, J, T> {
    left: Mutex<Left<L, J, T>>,
    /// Signalled when a running job ends.
    ended: Condvar,
}

/// The jobs that are left.
struct Left<L, J, T> {
    jobs: T,
    /// The jobs of devices that failed.
    returned: Vec<(L, J)>,
    /// Running jobs, which may be returned.
    begun: usize,
}

/// A running job.
struct RunningJob<'d, L, J, T: Iterator<Item = (L, J)>> {
    jobs: &'d Jobs<L, J, T>,
    /// Left to others, unless it is done.
    job: Option<(L, J)>,
}

impl<L, J, T: Iterator<Item = (L, J)>> Jobs<L, J, Fuse<T>> {
    /// These jobs, each with its label.
    pub fn new(jobs: impl IntoIterator<Item = (L, J), IntoIter = T>) -> Self {
        let left = Left { jobs: jobs.into_iter().fuse(), returned: Vec::new(), begun: 0 };
        Self { left: Mutex::new(left), ended: Condvar::new() }
    }
}

impl<L, J, T: Iterator<Item = (L, J)>> Jobs<L, J, T> {
    /// Does jobs on this thread until none is left, and returns their number.
    ///
    /// `work` does a job; `each` gets its label and its result.
    ///
    /// While others are at their last jobs it waits, since they may fail.
    ///
    /// # Errors
    /// The error of `work`. This thread then stops, and its job is left to others; so is a job in
    /// which `work` panics.
    pub fn work<P, E>(&self, mut work: impl FnMut(&J) -> Result<P, E>, mut each: impl FnMut(L, P)) -> Result<usize, E> {
        let mut done = 0;
        while let Some(job) = self.begin() {
            let mut begun = RunningJob { jobs: self, job: Some(job) };
            let made = begun.job.as_ref().map(|(_, job)| work(job)).transpose()?;
            if let Some(((label, _), made)) = begun.job.take().zip(made) {
                each(label, made);
            }
            done += 1;
        }
        Ok(done)
    }

    /// The jobs that were not done, with their labels: empty unless all devices failed.
    pub fn into_rest(self) -> impl Iterator<Item = (L, J)> {
        let mut left = self.left.into_inner().unwrap_or_else(PoisonError::into_inner);
        core::iter::from_fn(move || left.next())
    }

    fn lock(&self) -> MutexGuard<'_, Left<L, J, T>> {
        // A panic does not leave the state inconsistent.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next job, which is running from now on; `None` if none is left.
    ///
    /// While other jobs are running, which may be returned, it waits for one.
    fn begin(&self) -> Option<(L, J)> {
        let mut left = self.lock();
        loop {
            if let Some(job) = left.next() {
                left.begun += 1;
                return Some(job);
            }
            if left.begun == 0 {
                return None;
            }
            left = self.ended.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<L, J, T: Iterator<Item = (L, J)>> Left<L, J, T> {
    fn next(&mut self) -> Option<(L, J)> {
        self.returned.pop().or_else(|| self.jobs.next())
    }
}

impl<L, J, T: Iterator<Item = (L, J)>> Drop for RunningJob<'_, L, J, T> {
    fn drop(&mut self) {
        let mut left = self.jobs.lock();
        left.begun -= 1;
        left.returned.extend(self.job.take());
        self.jobs.ended.notify_all();
    }
}

impl<L, J, T> fmt::Debug for Jobs<L, J, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}
