//! Why a batch or an executor refuses or stops.
//!
//! The states, classes and limits that the errors name are defined here as well.

use core::fmt;

use backend_api::BackendKind;
use thiserror::Error;

/// Where a super-batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It takes in jobs.
    Pending,
    /// All key trees are walked, and bits wait to be opened.
    Flushed,
    /// Results are there.
    Finalized,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Flushed => "flushed",
            Self::Finalized => "finalized",
        })
    }
}

/// The two classes of gates that a phase flushes separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Coefficients, comparisons and everything else.
    Coeff,
    /// Truncations.
    Trunc,
}

impl Class {
    /// Both, in the order of their flushes.
    pub const ALL: [Self; 2] = [Self::Coeff, Self::Trunc];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// The quantity that a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Jobs in a super-batch.
    Jobs,
    /// Masked inputs in a super-batch.
    Words,
    /// Bytes of masked inputs in a super-batch.
    Bytes,
    /// Flushes of a super-batch.
    Flushes,
    /// Jobs in a layer.
    LayerJobs,
    /// Masked inputs in a layer.
    LayerWords,
    /// Flushes of one class in a layer.
    LayerFlushes,
    /// Phases of a layer.
    LayerPhases,
    /// Elements in a layer.
    LayerElements,
    /// Elements times their widths in a layer.
    LayerElementBits,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jobs => "jobs",
            Self::Words => "words",
            Self::Bytes => "bytes",
            Self::Flushes => "flushes",
            Self::LayerJobs => "jobs of the layer",
            Self::LayerWords => "words of the layer",
            Self::LayerFlushes => "flushes of one class in the layer",
            Self::LayerPhases => "phases of the layer",
            Self::LayerElements => "elements of the layer",
            Self::LayerElementBits => "element bits of the layer",
        })
    }
}

/// Why a super-batch or an executor refuses, or has stopped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// A call that the state does not allow.
    #[error("expected batch state {expected}, got {got}")]
    State {
        /// The state that the call needs.
        expected: State,
        /// The state.
        got: State,
    },
    /// An earlier failure left the batch without results; its keys are spent.
    #[error("the batch failed earlier and gives no results")]
    Poisoned,
    /// A message from the peer when none is due.
    #[error("no round is open")]
    NoRound,
    /// A handle of a job that was cleared, or of another batch.
    #[error("expected a handle of generation {expected}, got one of {got}")]
    Stale {
        /// Generation of the batch.
        expected: u64,
        /// Generation of the handle.
        got: u64,
    },
    /// A limit would be exceeded. Nothing was taken in.
    #[error("expected at most {max} {limit}, got {got}")]
    Limit {
        /// The limit.
        limit: Limit,
        /// Its value.
        max: u64,
        /// What would be reached.
        got: u64,
    },
    /// A job does not fit the device bytes that are left. Nothing was taken in.
    #[error("device budget exceeded: {need} bytes needed, {have} free")]
    BudgetExceeded {
        /// Bytes that the job needs or, if it may be cut, that its smallest part needs.
        need: u64,
        /// Bytes that are free.
        have: u64,
    },
    /// A configuration that no batch can have.
    #[error("expected {expected} for {what}, got {got}")]
    Config {
        /// The field.
        what: &'static str,
        /// The accepted values.
        expected: &'static str,
        /// Its value.
        got: u64,
    },
    /// Rows of a job do not add up to its elements.
    #[error("expected rows of {expected} elements in all, got {got}")]
    Rows {
        /// Elements of the job.
        expected: usize,
        /// Sum of the rows' lengths.
        got: usize,
    },
    /// A device needs a stager, and there is none.
    #[error("a batch on {kind} needs a stager")]
    NoStager {
        /// Where the batch runs.
        kind: BackendKind,
    },
    /// A stager that copies to a device other than the batch's.
    #[error("expected a stager for {expected}, got one for {got}")]
    ForeignStager {
        /// The device of the batch.
        expected: String,
        /// The device of the stager.
        got: String,
    },
    /// No task can advance, and no requested opening or flush is pending.
    #[error(
        "no progress: of {unfinished} unfinished tasks, {open} wait for openings, {coeff} for coeff and {trunc} for \
             trunc gates that nobody submitted"
    )]
    NoProgress {
        /// Tasks that are not done.
        unfinished: usize,
        /// Tasks that ask for an opening.
        open: usize,
        /// Tasks that ask for gates of class coeff.
        coeff: usize,
        /// Tasks that ask for gates of class trunc.
        trunc: usize,
    },
    /// A ticket that was never given out, or whose result was taken already.
    #[error("ticket {got} has no result waiting for it")]
    Ticket {
        /// Its number.
        got: u64,
    },
}
