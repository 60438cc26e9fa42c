//! Jobs on all cores.

use std::{collections::VecDeque, ops::AddAssign, sync::Mutex, thread};

use anyhow::{Context, Result};

/// Runs `jobs` in their order, as many at a time as there are cores, and sums what they return, in the order they end.
pub(crate) fn on_every_core<T: Send, R: Default + AddAssign + Send>(
    jobs: impl IntoIterator<Item = T>,
    run: impl Fn(T) -> Result<R> + Sync,
) -> Result<R> {
    let queue = Mutex::new(VecDeque::from_iter(jobs));
    let next = || queue.lock().map(|mut jobs| jobs.pop_front()).unwrap_or_default();
    let work = || -> Result<R> {
        let mut sum = R::default();
        while let Some(job) = next() {
            sum += run(job)?;
        }
        Ok(sum)
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut sum = R::default();
        for worker in workers {
            sum += worker.join().ok().context("a thread of the task died")??;
        }
        Ok(sum)
    })
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
}
