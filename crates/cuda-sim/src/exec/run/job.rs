//! A launch: which blocks run when, on how many host threads, and what becomes of a fault.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::code::Code;
use super::super::counters::Counters;
use super::super::fault::FaultKind;
use super::super::lanes::float::mix;
use super::super::memory::{Memory, View};
use super::super::options::{Grid, Options, Schedule};
use super::block::{Block, Round};
use super::check::GlobalShadow;
use super::fragment::has_wide_vectors;
use super::progress::{Common, Progress};
use super::warp::{State, Warp};

/// What every block of a launch needs to know.
pub(in crate::exec) struct Job<'j> {
    pub(in crate::exec) code: &'j Code,
    pub(in crate::exec) params: &'j [u8],
    pub(in crate::exec) grid: Grid,
    pub(in crate::exec) options: &'j Options,
    pub(in crate::exec) memory: &'j Memory,
    pub(in crate::exec) device: u32,
    /// Memory that the device may touch.
    pub(in crate::exec) view: &'j View,
    /// Addresses of the module's variables.
    pub(in crate::exec) globals: Arc<[u64]>,
    /// Whether accesses are shown to the checkers.
    pub(super) checked: bool,
    /// Whether the build of the loop for wide vectors runs here.
    pub(super) wide_vectors: bool,
    /// Steps made by all host threads.
    spent: AtomicU64,
    progress: Common,
    /// Host threads that share the blocks.
    threads: usize,
    /// Set when some block has failed.
    cancelled: AtomicBool,
}

/// The parts of a launch, before it runs.
pub(in crate::exec) struct Parts<'j> {
    pub(in crate::exec) code: &'j Code,
    pub(in crate::exec) params: &'j [u8],
    pub(in crate::exec) grid: Grid,
    pub(in crate::exec) options: &'j Options,
    pub(in crate::exec) memory: &'j Memory,
    pub(in crate::exec) device: u32,
    pub(in crate::exec) view: &'j View,
    pub(in crate::exec) globals: Arc<[u64]>,
}

/// A fault with its place in the code and the grid.
#[derive(Debug)]
pub(in crate::exec) struct Failure {
    pub(in crate::exec) kind: FaultKind,
    pub(in crate::exec) pc: u32,
    pub(in crate::exec) block: [u32; 3],
    pub(in crate::exec) thread: [u32; 3],
    /// The step of the earlier party of a race.
    pub(in crate::exec) earlier: Option<u32>,
}

impl<'j> Job<'j> {
    fn new(parts: Parts<'j>) -> Self {
        let Parts { code, params, grid, options, memory, device, view, globals } = parts;
        let checked = options.checks.any();
        let alone = checked || options.cooperative || options.schedule != Schedule::Natural;
        let threads = if alone { 1 } else { (options.threads as u64).clamp(1, grid.blocks().max(1)) as usize };
        Self {
            code,
            params,
            grid,
            options,
            memory,
            device,
            view,
            globals,
            checked,
            wide_vectors: has_wide_vectors(),
            spent: AtomicU64::new(0),
            progress: Common::new(threads),
            threads,
            cancelled: AtomicBool::new(false),
        }
    }

    /// Coordinates of block number `linear`.
    pub(super) fn block_at(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.grid.map(u64::from);
        [linear % x, linear / x % y, linear / x / y].map(|n| n as u32)
    }

    /// The PTX line of a step.
    pub(super) fn line(&self, pc: u32) -> u32 {
        self.code.origins[self.code.origin[pc as usize] as usize].line
    }

    /// Shared memory of a block.
    pub(super) fn shared_bytes(&self) -> u64 {
        self.code.static_shared + u64::from(self.grid.dynamic_shared)
    }

    /// Shared memory of a block with the gaps between its arrays.
    pub(super) fn shared_span(&self) -> u64 {
        self.shared_bytes() + self.code.gaps
    }
}

/// What one host thread carries from block to block.
pub(super) struct Executor<'e, 'j> {
    pub(super) job: &'e Job<'j>,
    pub(super) counters: Counters,
    pub(super) shadow: Option<GlobalShadow>,
    pub(super) progress: Progress<'e>,
    state: u64,
}

impl Executor<'_, '_> {
    /// A number below `bound`, by the seed of the schedule.
    pub(super) fn random(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state) % bound.max(1)
    }

    /// Counts steps against the watchdog. False once it has run out.
    pub(super) fn spend(&self, steps: u64) -> bool {
        let watchdog = self.job.options.watchdog;
        let spent = self.job.spent.fetch_add(steps, Relaxed) + steps;
        spent <= watchdog && self.progress.quiet() <= quiet_limit(watchdog)
    }

    pub(super) fn failure(&self, kind: FaultKind, pc: u32, block: [u32; 3], thread: [u32; 3]) -> Failure {
        Failure { kind, pc, block, thread, earlier: None }
    }
}

/// Steps without any progress after which a launch counts as hung.
fn quiet_limit(watchdog: u64) -> u64 {
    (watchdog / 128).max(1 << 24)
}

/// Runs all blocks of a launch.
pub(in crate::exec) fn run(parts: Parts<'_>) -> Result<Counters, Failure> {
    let job = &Job::new(parts);
    let blocks = job.grid.blocks();
    let seed = match job.options.schedule {
        Schedule::Natural => None,
        Schedule::Reverse => return run_some(job, 0, &mut (0..blocks).rev()),
        Schedule::Seeded(seed) => Some(seed),
    };
    if let Some(seed) = seed {
        return run_some(job, seed, &mut shuffled(blocks, seed).into_iter());
    }
    if job.threads == 1 {
        return run_some(job, 0, &mut (0..blocks));
    }
    let next = AtomicU64::new(0);
    let outcome = Mutex::new((Counters::default(), None::<(u64, Failure)>));
    rayon::scope(|scope| {
        for _ in 0..job.threads {
            scope.spawn(|_| {
                let mut last = 0;
                let mut queue = std::iter::from_fn(|| {
                    last = next.fetch_add(1, Relaxed);
                    (last < blocks && !job.cancelled.load(Relaxed)).then_some(last)
                });
                let result = run_some(job, 0, &mut queue);
                let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
                match result {
                    Ok(counters) => outcome.0 += &counters,
                    Err(failure) => {
                        job.cancelled.store(true, Relaxed);
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

/// The numbers below `count` in random order.
fn shuffled(count: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    order.sort_by_key(|&block| mix(block ^ mix(seed)));
    order
}

/// Runs the blocks of `queue` on this host thread, at most the resident number of them at a time.
fn run_some(job: &Job<'_>, seed: u64, queue: &mut dyn Iterator<Item = u64>) -> Result<Counters, Failure> {
    let shadow = job.options.checks.global_races.then(|| GlobalShadow::new(job.code.global_granule));
    let (counters, progress) = (Counters::default(), Progress::new(&job.progress));
    let mut executor = Executor { job, counters, shadow, progress, state: mix(seed) };
    let seeded = matches!(job.options.schedule, Schedule::Seeded(_));
    let most = if job.options.cooperative { usize::MAX } else { job.options.resident_blocks.max(1) as usize };
    let (mut resident, mut spare) = (VecDeque::new(), Vec::<Block>::new());
    let mut admit = |spare: &mut Vec<Block>| {
        let linear = queue.next()?;
        let mut block = spare.pop().unwrap_or_else(|| Block::new(job));
        block.start(job, linear);
        Some(block)
    };
    loop {
        // Another block is admitted once all that are under way wait for something; a seeded schedule mixes at once.
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
                Round::Done => spare.push(block),
                Round::Yield => resident.push_back(block),
            }
            if job.cancelled.load(Relaxed) {
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
            let ready = |warp: &Warp| warp.fragments.iter().any(|fragment| fragment.state == State::Ready);
            let block = resident.iter().find(|block| block.warps.iter().any(ready));
            if let Some(block) = block {
                let index = block.warps.iter().position(ready).unwrap_or(0);
                return Err(block.timed_out(&executor, index));
            }
        }
    }
}
