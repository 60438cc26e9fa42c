//! Jobs on all cores.

use std::{collections::VecDeque, sync::Mutex, thread};

use anyhow::{Context, Result};

use crate::tally::Tally;

/// Runs `jobs` in their order, as many at a time as there are cores, and sums what they return.
pub(crate) fn on_every_core<T: Send>(
    jobs: impl IntoIterator<Item = T>,
    run: impl Fn(T) -> Result<Tally> + Sync,
) -> Result<Tally> {
    let queue = Mutex::new(VecDeque::from_iter(jobs));
    let next = || queue.lock().map(|mut jobs| jobs.pop_front()).unwrap_or_default();
    let work = || -> Result<Tally> {
        let mut tally = Tally::default();
        while let Some(job) = next() {
            tally += run(job)?;
        }
        Ok(tally)
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut tally = Tally::default();
        for worker in workers {
            tally += worker.join().ok().context("a thread of tests died")??;
        }
        Ok(tally)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_runs_once_and_an_error_is_returned() {
        let run = |job: usize| Ok(Tally::of(&job.to_string(), job != 7));
        let sum = on_every_core(0..100, run).unwrap();
        assert_eq!((sum.passed, sum.failed), (99, vec!["7".to_owned()]));
        assert!(on_every_core(0..3, |job| if job == 1 { anyhow::bail!("no") } else { run(job) }).is_err());
    }
}
