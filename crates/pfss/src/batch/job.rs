//! A gate on public masked inputs: its computation, its plan, and its state between rounds.

use std::sync::Arc;

use backend_api::ops::fss::FssOps;
use thiserror::Error;

use crate::{
    Evaluator, GateKind, MaskedKeys, Operation, Pending, PfssError, SufShares, SufStep, Task,
    error::BatchError,
    gates::{
        join::{Join, join_pending},
        plans::AllPlans,
        suf::SufPlan,
        tasks::plan::TaskPlan,
    },
    protocol::wire,
};

/// The computation of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Work<'a>(pub(super) JobKind<'a>);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum JobKind<'a> {
    Task(Task<'a>),
    Suf,
    Operation(Arc<Operation>),
}

/// One gate on a batch of public masked inputs, with this party's keys.
///
/// The inputs are elements of the ring of the gate's keys; their effective width is the width of
/// that ring.
#[derive(Debug)]
pub struct Job<'a> {
    pub(super) work: Work<'a>,
    pub(super) keys: MaskedKeys,
    pub(super) x_hat: Vec<u64>,
    /// Lengths of the rows that the elements are packed in, one after the other.
    pub(super) rows: Vec<usize>,
}

impl<'a> Job<'a> {
    /// A gate with additive shares as its result.
    #[must_use]
    pub fn task(task: Task<'a>, keys: MaskedKeys, x_hat: Vec<u64>) -> Self {
        Self::new(JobKind::Task(task), keys, x_hat)
    }

    /// The descriptor of the keys.
    #[must_use]
    pub fn suf(keys: MaskedKeys, x_hat: Vec<u64>) -> Job<'static> {
        Job::new(JobKind::Suf, keys, x_hat)
    }

    /// An operation, which the job shares.
    #[must_use]
    pub fn operation(operation: Arc<Operation>, keys: MaskedKeys, x_hat: Vec<u64>) -> Job<'static> {
        Job::new(JobKind::Operation(operation), keys, x_hat)
    }

    pub(super) fn new(kind: JobKind<'a>, keys: MaskedKeys, x_hat: Vec<u64>) -> Self {
        let rows = vec![x_hat.len()];
        Self { work: Work(kind), keys, x_hat, rows }
    }

    /// The same job on elements packed in rows of these lengths.
    ///
    /// [`SuperBatch::row`](super::SuperBatch::row) then returns each row.
    ///
    /// # Errors
    /// [`BatchError::Rows`] unless the lengths add up to the number of elements.
    pub fn with_rows(self, rows: Vec<usize>) -> Result<Self, BatchError> {
        let (expected, got) = (self.x_hat.len(), rows.iter().sum());
        if expected != got {
            return Err(BatchError::Rows { expected, got });
        }
        Ok(Self { rows, ..self })
    }

    /// The keys, for another job on the same masked inputs.
    #[must_use]
    pub fn into_keys(self) -> MaskedKeys {
        self.keys
    }

    /// How the job is evaluated.
    ///
    /// Refuses everything that can be refused before the job is taken in.
    pub(super) fn plan(&self, plans: &mut AllPlans) -> Result<JobPlan, PfssError> {
        let (keys, count) = (&self.keys.0, self.x_hat.len());
        let plan = match self.work.task() {
            Some(task) => {
                task.check_keys(keys, count)?;
                JobPlan::Task(plans.task(keys.gate(), task, &task.facts())?)
            }
            None => {
                keys.check_use(GateKind::Suf, count)?;
                JobPlan::Suf(plans.suf(keys.gate())?)
            }
        };
        match &self.work.0 {
            JobKind::Operation(operation) if operation.gate() != self.keys.gate() => Err(PfssError::Program),
            _ => Ok(plan),
        }
    }

    /// Adds what both parties must agree on.
    pub(super) fn record(&self, transcript: &mut blake3::Hasher) {
        self.keys.0.header.record(&self.work.facts(), transcript);
    }
}

/// A job that a batch did not take in.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct Refused<'a> {
    /// Why.
    pub error: PfssError,
    /// The job as it was.
    pub job: Box<Job<'a>>,
}

impl From<Refused<'_>> for PfssError {
    fn from(refused: Refused<'_>) -> Self {
        refused.error
    }
}

impl Work<'_> {
    /// The task; `None` for a descriptor.
    pub(super) fn task(&self) -> Option<Task<'_>> {
        match &self.0 {
            JobKind::Task(task) => Some(*task),
            JobKind::Suf => None,
            JobKind::Operation(operation) => operation.task(),
        }
    }

    /// The public facts other than gate, count and nonce.
    pub(super) fn facts(&self) -> Vec<u64> {
        self.task().map_or_else(Vec::new, |task| task.facts())
    }
}

/// How a job is evaluated.
#[derive(Clone, Debug)]
pub(super) enum JobPlan {
    Task(Arc<TaskPlan>),
    Suf(Arc<SufPlan>),
}

impl JobPlan {
    /// Walks all key trees of a part of a job.
    pub(super) fn eval<W: Evaluator>(
        &self,
        evaluator: &W,
        keys: MaskedKeys,
        x_hat: Vec<u64>,
    ) -> Result<JobProgress, PfssError> {
        Ok(match self {
            Self::Task(plan) => JobProgress::Words(plan.eval(evaluator, keys, x_hat)?),
            Self::Suf(plan) => JobProgress::Suf(plan.eval(evaluator, keys, x_hat)?),
        })
    }
}

/// A job between two rounds.
#[derive(Debug)]
pub(super) enum JobProgress {
    Words(Pending),
    Suf(SufStep),
    Done(Shares),
}

/// A party's shares of a job's result.
#[derive(Debug)]
pub enum Shares {
    /// Additive shares, in the order of the task.
    Words(Vec<u64>),
    /// Outputs of a descriptor.
    Suf(SufShares),
}

impl Shares {
    /// The additive shares of words, `[elements][words]`.
    ///
    /// They are the result of a task, or a descriptor's words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        match self {
            Self::Words(words) => words,
            Self::Suf(shares) => &shares.words,
        }
    }

    /// [`words`](Self::words) by value.
    #[must_use]
    pub fn into_words(self) -> Vec<u64> {
        match self {
            Self::Words(words) => words,
            Self::Suf(shares) => shares.words,
        }
    }
}

impl JobProgress {
    /// The whole of a job, joined from its parts; there is at least one.
    pub(super) fn join(parts: Vec<(usize, Self)>) -> Self {
        let (mut words, mut suf) = (Vec::new(), Vec::new());
        for (count, part) in parts {
            match part {
                Self::Words(pending) => words.push(pending),
                Self::Suf(step) => suf.push((count, step)),
                Self::Done(shares) => return Self::Done(shares),
            }
        }
        if suf.is_empty() { Self::Words(join_pending(words)) } else { Self::Suf(SufStep::join(suf)).settled() }
    }

    /// Names a descriptor that has nothing left to open.
    fn settled(self) -> Self {
        match self {
            Self::Suf(SufStep::Done(shares)) => Self::Done(Shares::Suf(shares)),
            other => other,
        }
    }

    /// What has to be sent, if anything is left to open.
    pub(super) fn message<Q: FssOps>(&self, q: &Q) -> Result<Option<Vec<u8>>, PfssError> {
        match self {
            Self::Words(pending) => wire::opening_to_bytes(q, pending).map(Some),
            Self::Suf(SufStep::Open(pending)) => wire::opening_to_bytes(q, pending).map(Some),
            Self::Suf(SufStep::Done(_)) | Self::Done(_) => Ok(None),
        }
    }

    /// The masked bits and words in [`message`](Self::message).
    pub(super) fn masked(&self) -> Option<(&[u32], &[u64])> {
        match self {
            Self::Words(pending) => Some((pending.masked_bits(), pending.masked_words())),
            Self::Suf(SufStep::Open(pending)) => Some((pending.masked_bits(), pending.masked_words())),
            Self::Suf(SufStep::Done(_)) | Self::Done(_) => None,
        }
    }

    /// The next step, from the peer's message.
    pub(super) fn advance<Q: FssOps>(self, q: &Q, theirs: &[u8]) -> Result<Self, PfssError> {
        Ok(match self {
            Self::Words(pending) => Self::Done(Shares::Words(wire::finish_opening(q, pending, theirs)?)),
            Self::Suf(SufStep::Open(pending)) => Self::Suf(wire::finish_opening(q, pending, theirs)?).settled(),
            done => done,
        })
    }
}
