//! Jobs on all cores, and one more.

use std::{
    cmp::Reverse,
    ops::AddAssign,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use anyhow::{Context, Result};

/// Runs `jobs` in order, so that all cores are busy, and sums their results.
///
/// Results are added in the order in which jobs end.
pub(crate) fn on_every_core<T: Send, R: Default + AddAssign + Send>(
    jobs: impl IntoIterator<Item = T>,
    run: impl Fn(T) -> Result<R> + Sync,
) -> Result<R> {
    let feed = |queue: &JobQueue<T>| {
        jobs.into_iter().enumerate().for_each(|(place, job)| queue.push(Reverse(place), job));
        Ok(())
    };
    while_fed(feed, run).map(|((), sum)| sum)
}

/// Runs the jobs that `feed` pushes, the greatest weight first.
///
/// One job runs at a time until `feed` returns, then one on each core and one more: some wait for
/// a deadline or for other processes.
pub(crate) fn while_fed<W: Ord + Send, T: Send, R: Default + AddAssign + Send, F>(
    feed: impl FnOnce(&JobQueue<T, W>) -> Result<F>,
    run: impl Fn(T) -> Result<R> + Sync,
) -> Result<(F, R)> {
    let queue = JobQueue { state: Mutex::new(QueueState { jobs: Vec::new(), closed: false }), changed: Condvar::new() };
    let work = || -> Result<R> {
        let mut sum = R::default();
        while let Some(job) = queue.pop() {
            sum += run(job)?;
        }
        Ok(sum)
    };
    thread::scope(|scope| {
        let first = scope.spawn(work);
        // A feed that panics closes the queue too, or its worker would wait for ever.
        let closing = Closing(&queue);
        let fed = feed(&queue);
        if fed.is_err() {
            queue.discard();
        }
        drop(closing);
        let others = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
        let mut sum = R::default();
        for worker in [first].into_iter().chain(workers) {
            sum += worker.join().ok().context("a thread of the task died")??;
        }
        Ok((fed?, sum))
    })
}

/// Jobs that wait, with their weights.
pub(crate) struct JobQueue<T, W = Reverse<usize>> {
    state: Mutex<QueueState<T, W>>,
    changed: Condvar,
}

struct QueueState<T, W> {
    jobs: Vec<(W, T)>,
    /// Whether no more jobs come.
    closed: bool,
}

/// Closes a queue when it is dropped.
struct Closing<'a, T, W: Ord>(&'a JobQueue<T, W>);

impl<T, W: Ord> Drop for Closing<'_, T, W> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl<T, W: Ord> JobQueue<T, W> {
    fn lock(&self) -> MutexGuard<'_, QueueState<T, W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job.
    pub(crate) fn push(&self, weight: W, job: T) {
        self.lock().jobs.push((weight, job));
        self.changed.notify_one();
    }

    /// Drops the jobs that wait.
    fn discard(&self) {
        self.lock().jobs.clear();
    }

    /// The heaviest job; waits for one while the queue is open.
    fn pop(&self) -> Option<T> {
        let waiting = self.changed.wait_while(self.lock(), |state| state.jobs.is_empty() && !state.closed);
        let jobs = &mut waiting.unwrap_or_else(PoisonError::into_inner).jobs;
        let heaviest = (0..jobs.len()).max_by(|&a, &b| jobs[a].0.cmp(&jobs[b].0))?;
        Some(jobs.swap_remove(heaviest).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Tally;

    #[test]
    fn every_job_runs_once_and_an_error_is_returned() {
        let run = |job: usize| Ok(Tally::of(&job.to_string(), job != 7));
        let sum = on_every_core(0..100, run).unwrap();
        assert_eq!((sum.passed, sum.failed), (99, vec!["7".to_owned()]));
        assert!(on_every_core(0..3, |job| if job == 1 { anyhow::bail!("no") } else { run(job) }).is_err());
    }

    #[test]
    fn runs_jobs_while_it_is_fed_and_the_heaviest_first() {
        let (started, order) = (std::sync::mpsc::channel(), Mutex::new(Vec::new()));
        let (sender, receiver) = started;
        let feed = |queue: &JobQueue<usize, usize>| {
            queue.push(0, 100);
            receiver.recv().unwrap(); // the first job runs
            (1..20).for_each(|job| queue.push(job, job));
            Ok("fed")
        };
        let run = |job: usize| {
            order.lock().unwrap().push(job);
            if job == 100 {
                sender.send(()).unwrap();
            }
            Ok(Tally::of("job", true))
        };
        let (fed, sum) = while_fed(feed, run).unwrap();
        assert_eq!((fed, sum.passed, order.into_inner().unwrap()[0]), ("fed", 20, 100));
        let failed = while_fed(
            |queue: &JobQueue<usize, usize>| -> Result<()> {
                queue.push(0, 1);
                anyhow::bail!("no more")
            },
            |job| Ok(Tally::of(&job.to_string(), true)),
        );
        assert!(failed.is_err());
    }

    #[test]
    fn ends_after_a_feed_that_panics() {
        let (running, ended) = std::sync::mpsc::channel::<()>();
        thread::spawn(move || {
            let _running = running;
            let feed = |_: &JobQueue<usize, usize>| -> Result<()> { panic!("no feed") };
            let _ = while_fed(feed, |_| Ok(Tally::default()));
        });
        let limit = std::time::Duration::from_mins(1);
        assert_eq!(ended.recv_timeout(limit), Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
    }
}
