//! Events from a measuring process to the process that displays them.

use serde::{Deserialize, Serialize};

/// What happens while ops of a backend are measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum BenchEvent {
    /// The backend is open.
    Opened(MeasuredMachine),
    /// A line is about to be measured.
    Begins { id: String },
    /// A line was measured.
    Measured(MeasuredLine),
    /// A line could not be measured.
    Failed { id: String, reason: String },
    /// The queue is gone, and nothing follows.
    Closed,
}

/// The machine of the measurements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MeasuredMachine {
    pub(super) status: String,
    pub(super) device: String,
    pub(super) path: String,
    /// The CUDA driver, if the backend has one.
    pub(super) driver: Option<String>,
    /// Bytes of the device's largest cache, if known.
    pub(super) cache_bytes: Option<u64>,
    pub(super) rounds: usize,
}

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MeasuredLine {
    pub(super) id: String,
    pub(super) unit: String,
    pub(super) work: f64,
    /// Least bytes that one run reads and writes; 0 where arithmetic is the limit.
    pub(super) bytes: f64,
    /// Bytes of all buffers.
    pub(super) resident: f64,
    pub(super) median_s: f64,
    pub(super) best_s: f64,
    /// Seconds of all rounds, which ended now.
    pub(super) rounds_s: f64,
}
