//! A gate on public masked inputs: its computation, its plan, and its keys.

use std::sync::Arc;

use core_types::Ring;
use thiserror::Error;

use crate::{
    MaskedKeys, Operation, PfssError, Task,
    error::BatchError,
    gates::{plan::TaskPlan, plans::AllPlans},
};

/// The computation of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Work<'a> {
    /// A task.
    Task(Task<'a>),
    /// The task of an operation, which the job shares.
    Operation(Arc<Operation>),
}

impl<'a> From<Task<'a>> for Work<'a> {
    fn from(task: Task<'a>) -> Self {
        Self::Task(task)
    }
}

impl From<Arc<Operation>> for Work<'_> {
    fn from(operation: Arc<Operation>) -> Self {
        Self::Operation(operation)
    }
}

impl Work<'_> {
    pub(super) fn task(&self) -> Task<'_> {
        match self {
            Self::Task(task) => *task,
            Self::Operation(operation) => operation.task(),
        }
    }
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
    /// The ring that the keys must have, if the caller named one.
    ring: Option<Ring>,
}

impl<'a> Job<'a> {
    /// A task or an operation on masked inputs, as [`MaskedKeys::eval`] takes them.
    #[must_use]
    pub fn new(work: impl Into<Work<'a>>, keys: MaskedKeys, x_hat: Vec<u64>) -> Self {
        let rows = vec![x_hat.len() / keys.gate().inputs()];
        Self { work: work.into(), keys, x_hat, rows, ring: None }
    }

    /// The same job on inputs of `ring`, which a batch refuses if its keys have another ring.
    ///
    /// A task has no ring. Without this call a job has the ring of its keys.
    #[must_use]
    pub fn in_ring(self, ring: Ring) -> Self {
        Self { ring: Some(ring), ..self }
    }

    /// The same job on elements packed in rows of these lengths.
    ///
    /// [`SuperBatch::row`](super::SuperBatch::row) then returns each row.
    ///
    /// # Errors
    /// [`BatchError::Rows`] unless the lengths add up to the number of elements.
    pub fn with_rows(self, rows: Vec<usize>) -> Result<Self, BatchError> {
        let (expected, got) = (self.x_hat.len() / self.keys.gate().inputs(), rows.iter().sum());
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
    pub(super) fn plan(&self, plans: &mut AllPlans) -> Result<Arc<TaskPlan>, PfssError> {
        let (task, gate) = (self.work.task(), self.keys.gate());
        self.ring.map_or(Ok(()), |ring| gate.check_ring(ring))?;
        task.check_keys(&self.keys.0, self.x_hat.len())?;
        let plan = plans.of(gate, task, &task.facts())?;
        match &self.work {
            Work::Operation(operation) if operation.gate() != gate => Err(PfssError::Program),
            _ => Ok(plan),
        }
    }

    /// Adds what both parties must agree on.
    pub(super) fn record(&self, transcript: &mut blake3::Hasher) {
        self.keys.0.header.record(&self.work.task().facts(), transcript);
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
