//! The super-batch: jobs taken in, walked in one flush, opened round by round.

use core::{fmt, time::Duration};
use std::sync::Arc;

use backend_api::{BackendError, Budget, Reservation, Timed, ops::fss::FssOps};

use super::{
    config::{BatchConfig, Fit},
    device_memory::footprint::Footprint,
    group::groups,
    job::{Job, Refused},
    limits::grow,
    streaming::{
        ref_or_arc::RefOrArc,
        stager::{Queues, Streams},
        stream::{self, JobPart},
    },
    timing::{counters::Counters, meter::Meter, times::Stopwatch},
};
use crate::{
    MaskedKeys, Party, PfssError, Shares, Step,
    channel::check_message,
    error::{BatchError, Limit, State},
    gates::{plan::TaskPlan, plans::AllPlans, walk::evaluator::Activity},
    protocol::wire,
};

/// A job of a [`SuperBatch`], until the batch is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    generation: u64,
    index: usize,
}

/// Many gates evaluated together.
///
/// They take one pass over the device, and one message a round for all of them.
///
/// A batch is pending while it takes in jobs, flushed when all key trees are walked, and finalized
/// when everything is opened; [`clear`](Self::clear) makes it pending again and all handles stale.
/// A failure of the device or the peer poisons it: no share comes out from then on. Shares do not
/// depend on how jobs are grouped, cut or streamed.
pub struct SuperBatch<'a, Q: FssOps> {
    queues: Queues<'a, Q>,
    config: BatchConfig,
    budget: Budget,
    stage: BatchStage<'a>,
    generation: u64,
    taken: Taken,
    reserved: Vec<Reservation>,
    /// For [`Fit::Split`]: the bytes that one slot needs for the jobs so far.
    slot_bytes: u64,
    /// Rows of each job.
    rows: Vec<Vec<usize>>,
    party: Option<Party>,
    transcript: blake3::Hasher,
    counters: Counters,
    meter: Meter<'a, Q>,
    plans: AllPlans,
}

/// A job that was taken in.
struct Admitted<'a> {
    job: Job<'a>,
    plan: Arc<TaskPlan>,
    footprint: Footprint,
}

enum BatchStage<'a> {
    Pending(Vec<Admitted<'a>>),
    /// Each job's step and, while a round is open, each job's message in it.
    Flushed(Vec<Step>, Option<Vec<Option<Vec<u8>>>>),
    Finalized(Vec<Option<Shares>>),
    Poisoned,
}

/// Totals of the jobs since the last clear.
#[derive(Clone, Copy, Default)]
struct Taken {
    jobs: u64,
    words: u64,
    bytes: u64,
}

impl<'a, Q: FssOps> SuperBatch<'a, Q> {
    /// An empty batch on a queue. A GPU needs a stager; a processor may have one.
    ///
    /// Device memory is limited by the budget of the queue and by
    /// [`BatchLimits`](super::BatchLimits), whichever is less.
    ///
    /// # Errors
    /// [`BatchError::NoStager`], [`BatchError::ForeignStager`], or [`BatchError::Config`].
    pub fn new(q: &'a Q, stager: Option<&'a Streams<Q>>, config: BatchConfig) -> Result<Self, PfssError> {
        let stager = stager.map(|stager| [&stager.upload, &stager.download].map(RefOrArc::Borrowed));
        Self::on(Queues::new(RefOrArc::Borrowed(q), stager)?, config)
    }

    /// [`new`](Self::new) with shared ownership of the queues.
    ///
    /// These are the queue and a stager's queues for uploads and downloads. The batch may outlive
    /// its creator.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn shared(q: Arc<Q>, stager: Option<[Arc<Q>; 2]>, config: BatchConfig) -> Result<Self, PfssError> {
        let stager = stager.map(|queues| queues.map(RefOrArc::Shared));
        Self::on(Queues::new(RefOrArc::Shared(q), stager)?, config)
    }

    fn on(queues: Queues<'a, Q>, config: BatchConfig) -> Result<Self, PfssError> {
        let fields = [
            ("slots", "1 to 3", config.slots, (1..=3).contains(&config.slots)),
            ("part", "a positive multiple of 32", config.part, config.part > 0 && config.part.is_multiple_of(32)),
        ];
        for (what, expected, got, valid) in fields {
            if !valid {
                return Err(BatchError::Config { what, expected, got: got as u64 }.into());
            }
        }
        let budget = queues.compute().budget().limit_bytes();
        let limit = config.limits.device_bytes.unwrap_or(u64::MAX).min(budget);
        let mut transcript = blake3::Hasher::new();
        transcript.update(b"pfss super-batch v2");
        Ok(Self {
            queues,
            config,
            budget: Budget::new(limit),
            stage: BatchStage::Pending(Vec::new()),
            generation: 0,
            taken: Taken::default(),
            reserved: Vec::new(),
            slot_bytes: 0,
            rows: Vec::new(),
            party: None,
            transcript,
            counters: Counters::default(),
            plans: AllPlans::default(),
            meter: Meter::off(),
        })
    }

    /// The batch, now measuring with the clock `now` where its time goes: [`Counters::times`].
    ///
    /// `now` is the time since a moment of the caller's choice.
    #[must_use]
    pub fn timed(self, now: impl Fn() -> Duration + Send + Sync + 'a) -> Self {
        let watch = Stopwatch::new(Some(Box::new(now)));
        Self { meter: self.meter.with_watch(watch), ..self }
    }

    /// The batch, now measuring device times with marks in its queues.
    ///
    /// [`Counters::device`] then holds the times of copies and walks and their overlap.
    #[must_use]
    pub fn marked(self) -> Self
    where
        Q: Timed + 'a,
    {
        Self { meter: self.meter.with_marks(), ..self }
    }

    /// Where the batch stands.
    ///
    /// # Errors
    /// [`BatchError::Poisoned`] after a failure.
    pub fn state(&self) -> Result<State, BatchError> {
        match &self.stage {
            BatchStage::Pending(_) => Ok(State::Pending),
            BatchStage::Flushed(..) => Ok(State::Flushed),
            BatchStage::Finalized(_) => Ok(State::Finalized),
            BatchStage::Poisoned => Err(BatchError::Poisoned),
        }
    }

    /// The work done by the batch so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters { times: self.meter.watch.times(), device: self.meter.device_times(), ..self.counters }
    }

    /// Where it walks and packs.
    pub(super) fn queue(&self) -> RefOrArc<'a, Q> {
        self.queues.hold_compute()
    }

    /// The device bytes reserved by jobs: now, and at most so far.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Jobs so far.
    pub(super) fn jobs(&self) -> usize {
        self.rows.len()
    }

    /// A digest of all public facts of all jobs so far, in order.
    ///
    /// It is equal for both parties, unless they are out of step. A [`Session`](crate::Session)
    /// compares it without a call.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        *self.transcript.finalize().as_bytes()
    }

    /// Takes in a job, and reserves the device memory for its keys, inputs, outputs and scratch.
    ///
    /// A processor reads keys in place and uses less than the reserved memory.
    ///
    /// # Errors
    /// [`BatchError::State`] unless the batch is pending, [`BatchError::Limit`],
    /// [`BatchError::BudgetExceeded`], [`PfssError::WrongParty`] for keys of another party than
    /// earlier jobs, [`PfssError::KeyRing`] for keys of another ring than
    /// [`Job::in_ring`](super::Job::in_ring) names, and the gate's own errors. The batch is then as
    /// before, but the job and its keys are gone; [`try_enqueue`](Self::try_enqueue) gives them
    /// back.
    pub fn enqueue(&mut self, job: Job<'a>) -> Result<Handle, PfssError> {
        Ok(self.try_enqueue(job)?)
    }

    /// [`enqueue`](Self::enqueue), but returns a refused job to the caller.
    ///
    /// The masked inputs of the job are open, so no other keys fit them.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn try_enqueue(&mut self, job: Job<'a>) -> Result<Handle, Refused<'a>> {
        let (plan, footprint) = match self.admit(&job) {
            Ok(admitted) => admitted,
            Err(error) => return Err(Refused { error, job: Box::new(job) }),
        };
        self.party = Some(job.keys.party());
        job.record(&mut self.transcript);
        self.rows.push(job.rows.clone());
        let handle = Handle { generation: self.generation, index: self.rows.len() - 1 };
        if let BatchStage::Pending(jobs) = &mut self.stage {
            jobs.push(Admitted { job, plan, footprint });
        }
        Ok(handle)
    }

    /// Counts a job and reserves its memory, or changes nothing.
    fn admit(&mut self, job: &Job<'a>) -> Result<(Arc<TaskPlan>, Footprint), PfssError> {
        self.expect(State::Pending)?;
        let plan = job.plan(&mut self.plans)?;
        if let Some(party) = self.party {
            job.keys.0.check_party(party)?;
        }
        let (limits, words) = (self.config.limits, job.x_hat.len() as u64);
        let taken = Taken {
            jobs: grow(Limit::Jobs, limits.jobs, self.taken.jobs, 1)?,
            words: grow(Limit::Words, limits.words, self.taken.words, words)?,
            bytes: grow(Limit::Bytes, limits.bytes, self.taken.bytes, 8 * words)?,
        };
        let footprint = Footprint::of(job.keys.gate(), &plan);
        self.reserve(&footprint, job.keys.count())?;
        self.taken = taken;
        Ok((plan, footprint))
    }

    /// Takes the bytes of a job from the budget.
    ///
    /// All of them or, if parts are streamed, the bytes that each slot needs beyond the largest
    /// earlier job.
    fn reserve(&mut self, footprint: &Footprint, count: usize) -> Result<(), BatchError> {
        let whole = footprint.total(count);
        let need = match self.config.fit {
            Fit::Whole => whole,
            Fit::Split => {
                let part = self.part_of(footprint, count).ok_or_else(|| BatchError::BudgetExceeded {
                    need: footprint.total(count.min(32)) * self.config.slots as u64,
                    have: self.budget.limit_bytes(),
                })?;
                let slot = footprint.total(part.min(count)).max(self.slot_bytes);
                (slot - self.slot_bytes) * self.config.slots as u64
            }
        };
        match self.budget.reserve(need) {
            Ok(reserved) => self.reserved.push(reserved),
            Err(BackendError::BudgetExceeded { need_bytes: need, free_bytes: have, .. }) => {
                return Err(BatchError::BudgetExceeded { need, have });
            }
            Err(_) => return Err(BatchError::BudgetExceeded { need, have: 0 }),
        }
        if self.config.fit == Fit::Split {
            self.slot_bytes += need / self.config.slots as u64;
        }
        Ok(())
    }

    /// Elements in each part of a job; `None` if not even 32 fit a slot.
    fn part_of(&self, footprint: &Footprint, count: usize) -> Option<usize> {
        match self.config.fit {
            Fit::Whole => Some(count),
            Fit::Split => footprint
                .fitting(self.budget.limit_bytes() / self.config.slots as u64, self.config.part.min(count.max(1))),
        }
    }

    /// Walks the key trees of all jobs, group by group.
    ///
    /// # Errors
    /// [`BatchError::State`] unless the batch is pending, [`BatchError::Limit`] for flushes. A
    /// failure of the device, as [`PfssError::Backend`], poisons the batch.
    pub fn flush(&mut self) -> Result<(), PfssError> {
        self.expect(State::Pending)?;
        self.counters.flushes = grow(Limit::Flushes, self.config.limits.flushes, self.counters.flushes, 1)?;
        // Whatever fails from here on, the keys are spent.
        let BatchStage::Pending(jobs) = core::mem::replace(&mut self.stage, BatchStage::Poisoned) else {
            return Ok(());
        };
        self.meter.watch.enter(Activity::Idle);
        let walked = self.walk(jobs);
        self.meter.watch.enter(Activity::Outside);
        let steps = self.unless_failed(walked)?;
        self.stage = BatchStage::Flushed(steps, None);
        Ok(())
    }

    /// The steps of all jobs, in their order, from their parts.
    fn walk(&mut self, jobs: Vec<Admitted<'a>>) -> Result<Vec<Step>, PfssError> {
        let mut pieces = Vec::new();
        let groups = groups(jobs.iter().map(|admitted| &admitted.job));
        self.counters.groups += groups.len() as u64;
        for &at in groups.iter().flatten() {
            let Admitted { job, footprint, .. } = &jobs[at];
            let (count, inputs) = (job.keys.count(), job.x_hat.len() as u64);
            let part = self.part_of(footprint, count).unwrap_or(count).max(1); // fitted when it was taken in
            let parts = (0..count.max(1)).step_by(part).map(|start| start..(start + part).min(count));
            pieces.extend(parts.clone().map(|range| (at, range)));
            let counters = &mut self.counters;
            counters.jobs += 1;
            counters.elements += count as u64;
            counters.aes += footprint.aes() * count as u64;
            counters.key_bytes += job.keys.0.device_bytes();
            counters.input_bytes += 8 * inputs;
            counters.packed_input_bytes += (inputs * u64::from(job.keys.gate().n())).div_ceil(8);
            counters.point_bytes += parts.map(|range| footprint.points(range.len())).sum::<u64>();
            counters.result_bytes += footprint.results(count);
        }
        self.counters.parts += pieces.len() as u64;
        // a descriptor's words lie next to each other
        let by_element: Vec<bool> = jobs.iter().map(|admitted| admitted.job.keys.gate().program().is_some()).collect();
        let mut parts: Vec<Vec<(usize, Step)>> = jobs.iter().map(|_| Vec::new()).collect();
        // A job in one part gives its keys, any other a copy for each part.
        let mut jobs: Vec<_> = jobs.into_iter().map(Some).collect();
        let cut = pieces.into_iter().filter_map(|(at, range)| {
            let admitted = jobs[at].take_if(|admitted| range.len() == admitted.job.keys.count());
            if let Some(Admitted { job, plan, .. }) = admitted {
                return Some(JobPart { job: at, plan, keys: job.keys, x_hat: job.x_hat });
            }
            let Admitted { job, plan, .. } = jobs[at].as_ref()?;
            let secrets = job.x_hat.chunks(job.keys.count().max(1));
            let x_hat = secrets.flat_map(|x_hat| &x_hat[range.clone()]).copied().collect();
            Some(JobPart { job: at, plan: Arc::clone(plan), keys: MaskedKeys(job.keys.0.slice(range)), x_hat })
        });
        self.meter.begin(self.queues.upload())?;
        stream::run(&self.queues, &self.meter, self.config.slots, cut, |job, count, step| {
            parts[job].push((count, step))
        })?;
        self.queues.upload().finish()?;
        self.meter.end();
        Ok(parts.into_iter().zip(by_element).map(|(parts, by_element)| Step::join(parts, by_element)).collect())
    }

    /// This party's message of the next round, for all jobs at once.
    ///
    /// `None` when all is open, and the batch final.
    ///
    /// [`absorb`](Self::absorb) the peer's message of the round before asking for the next.
    ///
    /// # Errors
    /// [`BatchError::State`] unless the batch is flushed; a failure of the device poisons it.
    pub fn round(&mut self) -> Result<Option<Vec<u8>>, PfssError> {
        Ok(self.begin_round()?.then(|| self.messages().collect::<Vec<_>>().concat()))
    }

    /// Begins a round unless one has begun; `false` when all is open, and the batch final.
    ///
    /// This party's message is then in [`messages`](Self::messages). Errors as
    /// [`round`](Self::round).
    pub(super) fn begin_round(&mut self) -> Result<bool, PfssError> {
        self.expect(State::Flushed)?;
        if let BatchStage::Flushed(_, Some(_)) = &self.stage {
            return Ok(true);
        }
        let BatchStage::Flushed(steps, _) = core::mem::replace(&mut self.stage, BatchStage::Poisoned) else {
            return Ok(false);
        };
        let message = |step: &Step| match step {
            Step::Open(pending) => wire::opening_to_bytes(self.queues.compute(), pending).map(Some),
            Step::Done(_) => Ok(None),
        };
        let messages = steps.iter().map(message).collect::<Result<Vec<_>, _>>();
        let messages = self.unless_failed(messages)?;
        if messages.iter().all(Option::is_none) {
            let done = |step| if let Step::Done(shares) = step { Some(shares) } else { None };
            self.stage = BatchStage::Finalized(steps.into_iter().map(done).collect());
            self.release();
            return Ok(false);
        }
        self.counters.rounds += 1;
        self.counters.opened_bytes += messages.iter().flatten().map(Vec::len).sum::<usize>() as u64;
        self.stage = BatchStage::Flushed(steps, Some(messages));
        self.meter.watch.enter(Activity::Exchange);
        Ok(true)
    }

    /// The parts of this party's message in the round that has begun, job after job.
    pub(super) fn messages(&self) -> impl Iterator<Item = &[u8]> {
        let messages: &[Option<Vec<u8>>] = match &self.stage {
            BatchStage::Flushed(_, Some(messages)) => &messages[..],
            _ => &[],
        };
        messages.iter().flatten().map(Vec::as_slice)
    }

    /// Shows the masked bits and words that this round's message holds, job after job.
    pub(super) fn masked(&self, mut see: impl FnMut(&[u32], &[u64])) {
        if let BatchStage::Flushed(steps, _) = &self.stage {
            for step in steps {
                if let Step::Open(pending) = step {
                    see(pending.masked_bits(), pending.masked_words());
                }
            }
        }
    }

    /// Takes in the peer's message of this round.
    ///
    /// # Errors
    /// [`BatchError::State`] unless the batch is flushed, [`BatchError::NoRound`] unless a
    /// [`round`](Self::round) was begun. A message of the wrong length or with bits where none
    /// belong, as [`PfssError::Channel`], poisons the batch, as does a failure of the device.
    pub fn absorb(&mut self, theirs: &[u8]) -> Result<(), PfssError> {
        self.expect(State::Flushed)?;
        let stage = core::mem::replace(&mut self.stage, BatchStage::Poisoned);
        let BatchStage::Flushed(steps, Some(mine)) = stage else {
            self.stage = stage;
            return Err(BatchError::NoRound.into());
        };
        self.meter.watch.enter(Activity::Outside);
        let advanced = self.advance(steps, &mine, theirs);
        self.stage = BatchStage::Flushed(self.unless_failed(advanced)?, None);
        Ok(())
    }

    /// The steps after the round with these messages.
    fn advance(&self, steps: Vec<Step>, mine: &[Option<Vec<u8>>], theirs: &[u8]) -> Result<Vec<Step>, PfssError> {
        check_message(mine.iter().flatten().map(Vec::len).sum(), theirs.len())?;
        let mut rest = theirs;
        let mut next = Vec::with_capacity(steps.len());
        for (step, mine) in steps.into_iter().zip(mine) {
            next.push(match (step, mine) {
                (Step::Open(pending), Some(mine)) => {
                    let (theirs, left) = rest.split_at(mine.len());
                    rest = left;
                    wire::finish_opening(self.queues.compute(), pending, theirs)?
                }
                (step, _) => step,
            });
        }
        Ok(next)
    }

    /// The shares of a job.
    ///
    /// # Errors
    /// [`BatchError::State`] unless the batch is final, [`BatchError::Stale`] for a handle from
    /// before a clear, [`BatchError::Ticket`] for one whose shares were taken.
    pub fn shares(&self, handle: Handle) -> Result<&Shares, BatchError> {
        let taken = BatchError::Ticket { got: handle.index as u64 };
        self.find(handle)?;
        match &self.stage {
            BatchStage::Finalized(shares) => shares.get(handle.index).and_then(Option::as_ref).ok_or(taken),
            _ => Err(taken),
        }
    }

    /// The shares of a job by value.
    ///
    /// # Errors
    /// As [`shares`](Self::shares).
    pub fn take(&mut self, handle: Handle) -> Result<Shares, BatchError> {
        let taken = BatchError::Ticket { got: handle.index as u64 };
        self.find(handle)?;
        match &mut self.stage {
            BatchStage::Finalized(shares) => shares.get_mut(handle.index).and_then(Option::take).ok_or(taken),
            _ => Err(taken),
        }
    }

    /// Additive shares of the words of row `row` of a job.
    ///
    /// It applies to results that keep the words of an element together: all but shares of
    /// [`Task::Predicates`](crate::Task::Predicates) and
    /// [`Task::IntervalPowers`](crate::Task::IntervalPowers).
    ///
    /// # Errors
    /// As [`shares`](Self::shares), and [`BackendError::OutOfRange`] for a row that the job does
    /// not have.
    pub fn row(&self, handle: Handle, row: usize) -> Result<&[u64], PfssError> {
        let (words, rows) = (&self.shares(handle)?.words, &self.rows[handle.index]);
        let Some(&len) = rows.get(row) else {
            return Err(BackendError::OutOfRange { start: row, end: row + 1, len: rows.len() }.into());
        };
        let (start, elements): (usize, usize) = (rows[..row].iter().sum(), rows.iter().sum());
        let stride = words.len().checked_div(elements).unwrap_or(0);
        Ok(&words[start * stride..][..len * stride])
    }

    /// Drops all jobs and results, and makes every handle stale. A failed batch stays failed.
    ///
    /// # Errors
    /// [`BatchError::Poisoned`].
    pub fn clear(&mut self) -> Result<(), BatchError> {
        self.state()?;
        self.stage = BatchStage::Pending(Vec::new());
        self.generation += 1;
        self.taken = Taken::default();
        self.rows.clear();
        self.meter.watch.enter(Activity::Outside);
        self.release();
        Ok(())
    }

    /// Poisons the batch if a step of it failed.
    fn unless_failed<T>(&mut self, step: Result<T, PfssError>) -> Result<T, PfssError> {
        step.inspect_err(|_| self.poison())
    }

    /// From here on the batch gives nothing.
    pub(super) fn poison(&mut self) {
        self.stage = BatchStage::Poisoned;
        self.meter.watch.enter(Activity::Outside);
        self.release();
    }

    fn release(&mut self) {
        self.reserved.clear();
        self.slot_bytes = 0;
    }

    fn find(&self, handle: Handle) -> Result<(), BatchError> {
        let state = self.state()?;
        if handle.generation != self.generation {
            return Err(BatchError::Stale { expected: self.generation, got: handle.generation });
        }
        if state == State::Finalized {
            Ok(())
        } else {
            Err(BatchError::State { expected: State::Finalized, got: state })
        }
    }

    fn expect(&self, expected: State) -> Result<(), BatchError> {
        let got = self.state()?;
        if got == expected { Ok(()) } else { Err(BatchError::State { expected, got }) }
    }
}

impl<Q: FssOps> fmt::Debug for SuperBatch<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuperBatch")
            .field("state", &self.state())
            .field("jobs", &self.rows.len())
            .field("generation", &self.generation)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}
