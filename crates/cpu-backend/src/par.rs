//! Parallel loops whose results do not depend on the number of threads.

use std::sync::{Mutex, PoisonError};

use rayon::{
    ThreadPool,
    iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator},
};

use backend_api::{BackendError, Queue, Reservation};

use crate::CpuQueue;

/// Elements of a task that treats every element alike: 256 KiB of f32.
pub(crate) const CHUNK: usize = 1 << 16;

impl CpuQueue {
    /// Reserves the scratch of an op in the budget while it runs.
    ///
    /// The scratch is `elements` of `T` for each task that runs at once, at most one per thread.
    pub(crate) fn reserve_scratch<T>(&self, tasks: usize, elements: usize) -> Result<Reservation, BackendError> {
        let at_once = tasks.min(self.caps().threads) as u64;
        let bytes = (elements as u64).saturating_mul(size_of::<T>() as u64);
        self.reserve(at_once.saturating_mul(bytes))
    }

    /// Runs `body(index, chunk)` over consecutive chunks of `chunk_len` elements.
    ///
    /// The last chunk may be shorter.
    ///
    /// The cut depends only on `chunk_len`, never on the number of threads; with one thread, or one
    /// chunk, everything runs on the calling thread. Choose chunks of at least 50 us or 64 KiB of
    /// work.
    pub(crate) fn for_chunks<T: Send>(&self, data: &mut [T], chunk_len: usize, body: impl Fn(usize, &mut [T]) + Sync) {
        each_chunk(self.pool(), data, chunk_len, &body);
    }

    /// Runs `body(index)` for `0..count`, at least `per_job` neighbouring indices on one thread.
    ///
    /// Bodies of different indices must not depend on each other's order.
    pub(crate) fn for_indices(&self, count: usize, per_job: usize, body: impl Fn(usize) + Sync) {
        match self.pool() {
            Some(pool) if count > per_job => in_parallel(pool, count, per_job, &body),
            _ => (0..count).for_each(body),
        }
    }

    /// Runs `body(index, job)` for every job of a list.
    ///
    /// The list is cut independently of the number of threads.
    pub(crate) fn for_jobs<J: Send>(&self, jobs: Vec<J>, body: impl Fn(usize, J) + Sync) {
        each_job(self.pool(), jobs, &body);
    }
}

/// [`for_chunks`](CpuQueue::for_chunks), compiled once for each type of elements.
///
/// The bodies of this function and the next ones are pointers: one indirect call for each chunk or
/// job is negligible, and the loop is not compiled for each op.
fn each_chunk<T: Send>(
    pool: Option<&ThreadPool>,
    data: &mut [T],
    chunk_len: usize,
    body: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    match pool {
        Some(pool) if data.len() > chunk_len => in_turn(pool, data.chunks_mut(chunk_len).collect(), body),
        _ => data.chunks_mut(chunk_len).enumerate().for_each(|(i, chunk)| body(i, chunk)),
    }
}

/// [`for_jobs`](CpuQueue::for_jobs), compiled once for each type of jobs.
fn each_job<J: Send>(pool: Option<&ThreadPool>, jobs: Vec<J>, body: &(dyn Fn(usize, J) + Sync)) {
    match pool {
        Some(pool) if jobs.len() > 1 => in_turn(pool, jobs, body),
        _ => jobs.into_iter().enumerate().for_each(|(i, job)| body(i, job)),
    }
}

/// Runs `body(index, job)` for every job on the threads of `pool`.
fn in_turn<J: Send>(pool: &ThreadPool, jobs: Vec<J>, body: &(dyn Fn(usize, J) + Sync)) {
    let jobs: Vec<_> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    in_parallel(pool, jobs.len(), 1, &|index| {
        // Each index is visited once, so the job is there and its lock is free.
        let job = jobs[index].lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(job) = job {
            body(index, job);
        }
    });
}

/// Runs `body(index)` for `0..count` on the threads of `pool`.
///
/// One thread runs at least `per_job` neighbouring indices. Rayon's scheduling is compiled once.
fn in_parallel(pool: &ThreadPool, count: usize, per_job: usize, body: &(dyn Fn(usize) + Sync)) {
    pool.install(|| (0..count).into_par_iter().with_min_len(per_job).for_each(body));
}

#[cfg(test)]
mod tests {
    use core::{
        num::NonZeroUsize,
        sync::atomic::{AtomicBool, Ordering},
    };
    use std::thread;

    use super::*;
    use crate::CpuConfig;

    #[test]
    fn one_thread_or_one_part_stays_on_the_calling_thread() {
        let here = thread::current().id();
        for threads in [1, 2] {
            let config = CpuConfig { threads: NonZeroUsize::new(threads), ..CpuConfig::default() };
            let q = CpuQueue::open(config).expect("the threads start");
            let stays = |run: &dyn Fn(&(dyn Fn() + Sync))| {
                let left = AtomicBool::new(false);
                run(&|| {
                    left.fetch_or(thread::current().id() != here, Ordering::Relaxed);
                });
                !left.into_inner()
            };
            let chunks = [4, 5].map(|len| stays(&|body| q.for_chunks(&mut vec![0u8; len], 4, |_, _| body())));
            let indices = [4, 5].map(|count| stays(&|body| q.for_indices(count, 4, |_| body())));
            let jobs = [1, 2].map(|count| stays(&|body| q.for_jobs(vec![(); count], |_, ()| body())));
            assert_eq!([chunks, indices, jobs], [[true, threads == 1]; 3], "{threads} threads");
        }
    }
}
