//! Jobs that are dealt out to several devices.

use core::{fmt, iter::Fuse};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs that are dealt out to several devices: proofs of any statements, say. [`ManyProofs`](crate::ManyProofs) are those of one.
///
/// Each device works on a thread of the caller's. It takes the next job as soon as it is done with one, so fast ones do more; a job is
/// asked for when it is taken. What a device that fails was at is done by others. Jobs have labels, by which the caller knows what came of
/// them; those of several clients, who shall not wait for each other, come [`in_turn`](crate::in_turn).
///
/// ```
/// use std::{sync::Mutex, thread};
///
/// use backend_api::BackendError;
/// use stark::{Columns, Jobs, M31, PcsConfig, Protocol, ProveError, ProverError, StatementProver};
/// use stark_airs::{StateMachine, WideFibonacci};
///
/// enum Job {
///     Steps(StateMachine),
///     Fibonacci(WideFibonacci, Vec<Columns>),
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
    /// A job that was under way is not any more.
    ended: Condvar,
}

/// The jobs that are left.
struct Left<L, J, T> {
    jobs: T,
    /// Those of devices that failed.
    returned: Vec<(L, J)>,
    /// Jobs that are under way, and may be returned.
    begun: usize,
}

/// A job that is under way.
struct Begun<'d, L, J, T: Iterator<Item = (L, J)>> {
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
    /// Does jobs on this thread until none is left, and says how many. `work` does one; `each` gets its label and what came of it.
    ///
    /// While others are at their last jobs it waits, since they may fail.
    ///
    /// # Errors
    /// What `work` fails with, which does no more then: the job that it was at is left to others, as it is where `work` panics.
    pub fn work<P, E>(&self, mut work: impl FnMut(&J) -> Result<P, E>, mut each: impl FnMut(L, P)) -> Result<usize, E> {
        let mut done = 0;
        while let Some(job) = self.begin() {
            let mut begun = Begun { jobs: self, job: Some(job) };
            let made = begun.job.as_ref().map(|(_, job)| work(job)).transpose()?;
            if let Some(((label, _), made)) = begun.job.take().zip(made) {
                each(label, made);
            }
            done += 1;
        }
        Ok(done)
    }

    /// The jobs that nobody did, with their labels: some if all devices failed.
    pub fn into_rest(self) -> impl Iterator<Item = (L, J)> {
        let mut left = self.left.into_inner().unwrap_or_else(PoisonError::into_inner);
        core::iter::from_fn(move || left.next())
    }

    fn lock(&self) -> MutexGuard<'_, Left<L, J, T>> {
        // What a panic left behind is whole.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, which is under way from now on. While others are, which may be returned, it waits for one; `None` if none is left.
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

impl<L, J, T: Iterator<Item = (L, J)>> Drop for Begun<'_, L, J, T> {
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
