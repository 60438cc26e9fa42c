//! The executor: steps tasks, then opens and flushes for all of them at once.

use core::fmt;

use backend_api::ops::fss::FssOps;

use super::{
    layer::{BarrierPolicy, LayerPlanner, LayerTotals},
    port::{Port, Ticket},
};
use crate::{
    Channel, PfssError, Session,
    batch::{
        config::BatchConfig,
        limits::LayerLimits,
        streaming::stager::Streams,
        super_batch::{Handle, SuperBatch},
    },
    error::{BatchError, Class, State},
};

/// The event that a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// Nothing: it is done, or wants another step.
    None,
    /// An opening.
    Open,
    /// The flush of class coeff.
    Coeff,
    /// The flush of class trunc.
    Trunc,
}

impl Need {
    /// The flush of `class`.
    #[must_use]
    pub const fn of(class: Class) -> Self {
        match class {
            Class::Coeff => Self::Coeff,
            Class::Trunc => Self::Trunc,
        }
    }
}

/// A computation that advances step by step, between openings and gates.
pub trait PhaseTask<'a> {
    /// Advances as far as possible, and returns the event it waits for.
    ///
    /// # Errors
    /// Whatever fails; the executor then stops for good.
    fn step(&mut self, port: &mut Port<'a>) -> Result<Need, PfssError>;

    /// Whether there is nothing left to do.
    fn is_done(&self) -> bool;
}

/// When an executor opens and flushes. Both parties use the same pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// After every step of all tasks.
    Eager,
    /// When no task can go on, or one of the thresholds is reached.
    Lazy {
        /// Words that wait to be opened.
        open_words: usize,
        /// Gates of one class that wait for their flush.
        jobs: usize,
    },
}

/// The thresholds of SUF.
impl Default for Pace {
    fn default() -> Self {
        Self::Lazy { open_words: 1 << 22, jobs: 1 << 14 }
    }
}

/// Runs tasks together.
///
/// Their openings share one message a round, and their gates one flush of each class. Both parties
/// run the same tasks in the same order at the same [`Pace`]; the session compares their steps.
pub struct PhaseExecutor<'a, Q: FssOps> {
    q: &'a Q,
    /// One for each class.
    batches: [SuperBatch<'a, Q>; 2],
    running: [Vec<(Ticket, Handle)>; 2],
    port: Port<'a>,
    pace: Pace,
    failed: bool,
}

/// How many unfinished tasks ask for what.
#[derive(Clone, Copy, Default)]
struct Wants {
    unfinished: usize,
    open: usize,
    flush: [usize; 2],
}

impl<'a, Q: FssOps> PhaseExecutor<'a, Q> {
    /// An executor on a queue, with a batch of the given configuration for each class.
    ///
    /// # Errors
    /// As [`SuperBatch::new`].
    pub fn new(
        q: &'a Q,
        stager: Option<&'a Streams<Q>>,
        config: BatchConfig,
        limits: LayerLimits,
        pace: Pace,
    ) -> Result<Self, PfssError> {
        let batches = [SuperBatch::new(q, stager, config)?, SuperBatch::new(q, stager, config)?];
        let port = Port::new(LayerPlanner::new(limits));
        Ok(Self { q, batches, running: [Vec::new(), Vec::new()], port, pace, failed: false })
    }

    /// The batch of a class, for its counters.
    #[must_use]
    pub fn batch(&self, class: Class) -> &SuperBatch<'a, Q> {
        &self.batches[class.index()]
    }

    /// Totals of the layer so far.
    #[must_use]
    pub fn totals(&self) -> LayerTotals {
        self.port.layer.totals()
    }

    /// Runs all tasks to their ends.
    ///
    /// # Errors
    /// [`BatchError::NoProgress`] if no task can go on and nothing that a task asks for was
    /// submitted; and whatever a task, the device or the peer fails with. The executor is then
    /// spent: later calls report [`BatchError::Poisoned`].
    pub fn run<C: Channel>(
        &mut self,
        session: &mut Session<C>,
        tasks: &mut [&mut dyn PhaseTask<'a>],
    ) -> Result<(), PfssError> {
        self.guarded(|executor| executor.run_steps(session, tasks))
    }

    /// Performs the openings and flushes that `policy` selects, requested or not.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn barrier<C: Channel>(&mut self, session: &mut Session<C>, policy: BarrierPolicy) -> Result<(), PfssError> {
        self.guarded(|executor| executor.drain(session, policy))
    }

    /// Opens and flushes all that is left, and ends the layer.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn finalize_layer<C: Channel>(&mut self, session: &mut Session<C>) -> Result<LayerTotals, PfssError> {
        self.barrier(session, BarrierPolicy::ALL)?;
        Ok(self.port.layer.finish())
    }

    fn guarded(&mut self, body: impl FnOnce(&mut Self) -> Result<(), PfssError>) -> Result<(), PfssError> {
        if self.failed {
            return Err(BatchError::Poisoned.into());
        }
        let result = body(self);
        if result.is_err() {
            self.failed = true;
            self.batches.iter_mut().for_each(SuperBatch::poison);
        }
        result
    }

    fn run_steps<C: Channel>(
        &mut self,
        session: &mut Session<C>,
        tasks: &mut [&mut dyn PhaseTask<'a>],
    ) -> Result<(), PfssError> {
        loop {
            let (mut wants, mut finished) = (Wants::default(), false);
            self.port.moved = false;
            for task in tasks.iter_mut().filter(|task| !task.is_done()) {
                let need = task.step(&mut self.port)?;
                self.relieve(session)?;
                if task.is_done() {
                    finished = true;
                    continue;
                }
                wants.unfinished += 1;
                match need {
                    Need::None => {}
                    Need::Open => wants.open += 1,
                    Need::Coeff => wants.flush[Class::Coeff.index()] += 1,
                    Need::Trunc => wants.flush[Class::Trunc.index()] += 1,
                }
            }
            if wants.unfinished == 0 {
                return Ok(());
            }
            let moved = finished || self.port.moved;
            if moved && self.pace != Pace::Eager {
                continue;
            }
            if !self.serve(session, wants)? && !moved {
                let [coeff, trunc] = wants.flush;
                let Wants { unfinished, open, .. } = wants;
                return Err(BatchError::NoProgress { unfinished, open, coeff, trunc }.into());
            }
        }
    }

    /// Opens the requested words or, if there is nothing to open, flushes the requested classes.
    ///
    /// Returns whether it did anything.
    fn serve<C: Channel>(&mut self, session: &mut Session<C>, wants: Wants) -> Result<bool, PfssError> {
        let words = wants.open > 0 && !self.port.openings.is_empty();
        if words || self.is_flushed(Class::Coeff) || self.is_flushed(Class::Trunc) {
            self.open(session, BarrierPolicy::ALL)?;
            return Ok(true);
        }
        self.flush(|class| wants.flush[class.index()] > 0)
    }

    /// Opens and flushes early where a threshold is reached.
    fn relieve<C: Channel>(&mut self, session: &mut Session<C>) -> Result<(), PfssError> {
        let Pace::Lazy { open_words, jobs } = self.pace else { return Ok(()) };
        if self.port.open_words() >= open_words.max(1) {
            self.drain(session, BarrierPolicy { open: true, ..BarrierPolicy::default() })?;
        }
        let [coeff, trunc] = self.port.jobs.each_ref().map(|waiting| waiting.len() >= jobs.max(1));
        self.drain(session, BarrierPolicy { open: false, coeff, trunc })
    }

    fn drain<C: Channel>(&mut self, session: &mut Session<C>, policy: BarrierPolicy) -> Result<(), PfssError> {
        loop {
            let words = policy.open && !self.port.openings.is_empty();
            let rounds = Class::ALL.into_iter().any(|class| policy.has(class) && self.is_flushed(class));
            if words || rounds {
                self.open(session, policy)?;
            } else if !self.flush(|class| policy.has(class))? {
                return Ok(());
            }
        }
    }

    fn is_flushed(&self, class: Class) -> bool {
        self.batches[class.index()].state() == Ok(State::Flushed)
    }

    /// Runs one phase: one flush of each requested class that has gates waiting.
    fn flush(&mut self, asked: impl Fn(Class) -> bool) -> Result<bool, PfssError> {
        let waiting = |class: &Class| asked(*class) && !self.port.jobs[class.index()].is_empty();
        let classes: Vec<Class> = Class::ALL.into_iter().filter(waiting).collect();
        if classes.is_empty() {
            return Ok(false);
        }
        self.port.layer.start_phase()?;
        for class in classes {
            self.port.layer.flush(class)?;
            let at = class.index();
            for (ticket, job) in core::mem::take(&mut self.port.jobs[at]) {
                let handle = self.batches[at].enqueue(job)?;
                self.running[at].push((ticket, handle));
            }
            self.batches[at].flush()?;
            self.collect(class)?;
        }
        Ok(true)
    }

    /// Sends one message.
    ///
    /// It holds all words waiting to be opened, if `policy.open` is set, and the next round of the
    /// policy's classes.
    fn open<C: Channel>(&mut self, session: &mut Session<C>, policy: BarrierPolicy) -> Result<(), PfssError> {
        let waiting = if policy.open { core::mem::take(&mut self.port.openings) } else { Vec::new() };
        let (tickets, openings): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
        let included = Class::ALL.map(|class| policy.has(class) && self.is_flushed(class));
        let mut batches: Vec<&mut SuperBatch<'a, Q>> =
            self.batches.iter_mut().zip(included).filter_map(|(batch, included)| included.then_some(batch)).collect();
        let opened = session.open_round(self.q, &openings, &mut batches)?;
        tickets.into_iter().zip(opened).for_each(|(ticket, words)| self.port.deliver_opened(ticket, words));
        Class::ALL.into_iter().filter(|class| included[class.index()]).try_for_each(|class| self.collect(class))
    }

    /// Delivers the shares of a batch that has nothing left to open, and empties it.
    fn collect(&mut self, class: Class) -> Result<(), PfssError> {
        let batch = &mut self.batches[class.index()];
        if !batch.begin_round()? {
            for (ticket, handle) in core::mem::take(&mut self.running[class.index()]) {
                self.port.deliver_shares(ticket, batch.take(handle)?);
            }
            batch.clear()?;
        }
        Ok(())
    }
}

impl<Q: FssOps> fmt::Debug for PhaseExecutor<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhaseExecutor")
            .field("port", &self.port)
            .field("batches", &self.batches)
            .field("pace", &self.pace)
            .field("failed", &self.failed)
            .finish()
    }
}
