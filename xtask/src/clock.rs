//! Times that tasks note while they run, for `times` to record.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

/// The kind of work that a time measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WorkKind {
    /// A tier of `test`.
    Tier,
    /// A command under a title.
    Check,
    /// A run of a test program.
    Program,
    /// A run of the conformance suite.
    Job,
    /// The cases of ops whose names begin alike, on one backend.
    OpGroup,
}

impl WorkKind {
    /// Heading of a table.
    pub(crate) const fn plural(self) -> &'static str {
        match self {
            Self::Tier => "tiers",
            Self::Check => "checks",
            Self::Program => "test programs",
            Self::Job => "runs of the conformance suite",
            Self::OpGroup => "op groups",
        }
    }
}

/// Seconds by name.
pub(crate) type Times = BTreeMap<WorkKind, BTreeMap<String, f64>>;

/// Times of the running task.
static TIMES: Mutex<Times> = Mutex::new(Times::new());

/// Adds `seconds` to the time of `name`.
pub(crate) fn note(kind: WorkKind, name: &str, seconds: f64) {
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    *times.entry(kind).or_default().entry(name.to_owned()).or_default() += seconds;
}

/// Returns what was noted, and begins anew.
pub(crate) fn take() -> Times {
    std::mem::take(&mut *TIMES.lock().unwrap_or_else(PoisonError::into_inner))
}
