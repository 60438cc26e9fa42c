//! A launch: which blocks run when, on how many host threads, and what becomes of a fault.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::block::{RoundEnd, ThreadBlock};
use super::check::shadow::global::GlobalShadow;
use super::executor::Executor;
use super::job::{LaunchJob, LocatedFault};
use super::progress::{Common, HostProgress};
use super::warp::{FragmentState, Warp};
use crate::exec::counters::Counters;
use crate::exec::lanes::float::mix;
use crate::exec::options::Schedule;

/// Runs all blocks of a launch.
pub(in crate::exec) fn run(job: &LaunchJob<'_>) -> Result<Counters, LocatedFault> {
    let threads = host_threads(job);
    let common = &Common::new(threads);
    let blocks = job.grid.blocks();
    match job.options.schedule {
        Schedule::Reverse => return run_some(job, common, 0, &mut (0..blocks).rev()),
        Schedule::Seeded(seed) => return run_some(job, common, seed, &mut shuffled(blocks, seed).into_iter()),
        Schedule::Natural if threads == 1 => return run_some(job, common, 0, &mut (0..blocks)),
        Schedule::Natural => {}
    }
    let next = AtomicU64::new(0);
    let outcome = Mutex::new((Counters::default(), None::<(u64, LocatedFault)>));
    rayon::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|_| {
                let mut last = 0;
                let mut queue = std::iter::from_fn(|| {
                    last = next.fetch_add(1, Relaxed);
                    (last < blocks && !common.is_cancelled()).then_some(last)
                });
                let result = run_some(job, common, 0, &mut queue);
                let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
                match result {
                    Ok(counters) => outcome.0 += &counters,
                    Err(failure) => {
                        common.cancel();
                        let [x, y, z] = failure.block.map(u64::from);
                        let [nx, ny, _] = job.grid.grid.map(u64::from);
                        let order = x + nx * (y + ny * z);
                        if outcome.1.as_ref().is_none_or(|(first, _)| order < *first) {
                            outcome.1 = Some((order, failure));
                        }
                    }
                }
            });
        }
    });
    match outcome.into_inner().unwrap_or_else(PoisonError::into_inner) {
        (counters, None) => Ok(counters),
        (_, Some((_, failure))) => Err(failure),
    }
}

/// How many host threads share the blocks.
fn host_threads(job: &LaunchJob<'_>) -> usize {
    let options = job.options;
    let alone = job.checked || options.cooperative || options.schedule != Schedule::Natural;
    if alone { 1 } else { (options.threads as u64).clamp(1, job.grid.blocks().max(1)) as usize }
}

/// The numbers below `count` in random order.
fn shuffled(count: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    order.sort_by_key(|&block| mix(block ^ mix(seed)));
    order
}

/// Runs the blocks of `queue` on this host thread.
///
/// At most the resident number of them run at a time.
fn run_some(
    job: &LaunchJob<'_>,
    common: &Common,
    seed: u64,
    queue: &mut dyn Iterator<Item = u64>,
) -> Result<Counters, LocatedFault> {
    let shadow = job.options.checks.global_races.then(|| GlobalShadow::new(job.code.global_granule));
    let (counters, progress) = (Counters::default(), HostProgress::new(common));
    let mut executor = Executor { job, counters, shadow, progress, state: mix(seed) };
    let seeded = matches!(job.options.schedule, Schedule::Seeded(_));
    let most = if job.options.cooperative { usize::MAX } else { job.options.resident_blocks.max(1) as usize };
    let (mut resident, mut spare) = (VecDeque::new(), Vec::<Box<ThreadBlock>>::new());
    let mut admit = |spare: &mut Vec<Box<ThreadBlock>>| {
        let linear = queue.next()?;
        let mut block = spare.pop().unwrap_or_else(|| Box::new(ThreadBlock::new(job)));
        block.start(job, linear);
        Some(block)
    };
    loop {
        // Another block is admitted once all resident ones wait for something; a seeded schedule mixes at once.
        while resident.is_empty() || seeded && resident.len() < most {
            match admit(&mut spare) {
                Some(block) => resident.push_back(block),
                None => break,
            }
        }
        let rounds = resident.len();
        if rounds == 0 {
            return Ok(executor.counters);
        }
        for _ in 0..rounds {
            if seeded {
                let turn = executor.random(resident.len() as u64) as usize;
                resident.swap(0, turn);
            }
            let Some(mut block) = resident.pop_front() else { break };
            match block.round(&mut executor)? {
                RoundEnd::Done => spare.push(block),
                RoundEnd::Yield => resident.push_back(block),
            }
            if common.is_cancelled() {
                return Ok(executor.counters);
            }
        }
        if !resident.is_empty()
            && resident.len() < most
            && let Some(block) = admit(&mut spare)
        {
            resident.push_back(block);
            executor.progress.note(0, true);
        } else if executor.progress.is_over(resident.iter().flat_map(|block| &block.warps)) {
            let ready = |warp: &Warp| warp.fragments.iter().any(|fragment| fragment.state == FragmentState::Ready);
            let block = resident.iter().find(|block| block.warps.iter().any(ready));
            if let Some(block) = block {
                let index = block.warps.iter().position(ready).unwrap_or(0);
                return Err(block.timed_out(&executor, index));
            }
        }
    }
}
