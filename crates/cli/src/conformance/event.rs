//! Events from a process that runs cases to the process that displays them.

use serde::{Deserialize, Serialize};

/// What happens in a run of the suite.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum ConformanceEvent {
    /// The backend is open.
    Opened {
        status: String,
        device: String,
        path: String,
        /// Cases; each runs under each condition.
        cases: usize,
        conditions: usize,
        /// Cases on more elements than allowed.
        left_out: usize,
    },
    /// A case is about to run.
    Begins(CaseRun),
    /// A case ended.
    Ends {
        #[serde(flatten)]
        run: CaseRun,
        seconds: f64,
        verdict: CaseVerdict,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Cases did not run.
    NotRun { op: String, runs: usize, reason: String },
    /// The simulated driver noticed something.
    Driver { text: String },
    /// The queue is gone, and nothing follows.
    Closed,
}

/// A case under a condition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CaseRun {
    /// Its number among the runs of this selection, from 0.
    pub(crate) run: usize,
    pub(crate) condition: String,
    pub(crate) op: String,
    pub(crate) case: String,
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaseVerdict {
    /// It held.
    Passed,
    /// The result was not right.
    Failed,
    /// The device was lost.
    Lost,
    /// The process ended.
    Died,
    /// The process was silent for too long.
    Hung,
}

impl CaseVerdict {
    /// In a word, as it is shown.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::Lost => "LOST",
            Self::Died => "DIED",
            Self::Hung => "HUNG",
        }
    }
}
