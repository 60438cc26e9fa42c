//! Lines as they are kept in files and compared with the times of another program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use yardstick::COPY;

use super::{
    clocks::ClockSummary,
    event::{MeasuredLine, MeasuredMachine},
};

/// What another program measured.
#[derive(Clone, Deserialize)]
pub(super) struct PeerResults {
    pub(super) name: String,
    /// Seconds of one run, by the id of the line.
    pub(super) lines: BTreeMap<String, f64>,
}

/// What was measured so far; consistent at every moment.
#[derive(Serialize)]
pub(super) struct DeviceResults {
    version: &'static str,
    #[serde(flatten)]
    pub(super) machine: Option<MeasuredMachine>,
    pub(super) note: Option<String>,
    #[serde(skip)]
    pub(super) peer: Option<PeerResults>,
    /// Name of the program whose times are shown next to ours.
    #[serde(rename = "peer")]
    peer_name: Option<String>,
    pub(super) copy_bytes_per_s: Option<f64>,
    pub(super) lines: Vec<ResultLine>,
    pub(super) failed: Vec<Failed>,
    /// Seconds of the peer's lines that have no counterpart among ours.
    pub(super) peer_only: BTreeMap<String, f64>,
    /// Whether every line was measured or has failed.
    pub(super) complete: bool,
}

/// A line that was measured.
#[derive(Serialize)]
pub(super) struct ResultLine {
    #[serde(flatten)]
    pub(super) measured: MeasuredLine,
    /// Rate of memory traffic divided by the copy's, where memory is the limit.
    pub(super) of_copy: Option<f64>,
    /// Whether its buffers fit the device's cache, so that runs find them there.
    pub(super) in_cache: bool,
    pub(super) peer_s: Option<f64>,
    pub(super) clocks: Option<ClockSummary>,
}

/// A line that could not be measured.
#[derive(Serialize)]
pub(super) struct Failed {
    pub(super) id: String,
    pub(super) reason: String,
}

impl ResultLine {
    /// Our rate divided by the peer's.
    pub(super) fn of_peer(&self) -> Option<f64> {
        self.peer_s.map(|peer_s| peer_s / self.measured.median_s)
    }
}

impl DeviceResults {
    pub(super) fn new(note: Option<String>, peer: Option<PeerResults>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            machine: None,
            note,
            peer_name: peer.as_ref().map(|peer| peer.name.clone()),
            peer_only: peer.as_ref().map(|peer| peer.lines.clone()).unwrap_or_default(),
            peer,
            copy_bytes_per_s: None,
            lines: Vec::new(),
            failed: Vec::new(),
            complete: false,
        }
    }

    /// Takes a line.
    pub(super) fn add(&mut self, measured: MeasuredLine, clocks: Option<ClockSummary>) {
        let rate = measured.bytes / measured.median_s;
        if measured.id == COPY {
            self.copy_bytes_per_s = Some(rate);
        }
        let of_copy = self.copy_bytes_per_s.filter(|_| measured.bytes > 0.0).map(|copy| rate / copy);
        let cache_bytes = self.machine.as_ref().and_then(|machine| machine.cache_bytes);
        let in_cache = cache_bytes.is_some_and(|bytes| measured.resident <= bytes as f64);
        let peer_s = self.peer.as_ref().and_then(|peer| peer.lines.get(&measured.id).copied());
        self.peer_only.remove(&measured.id);
        self.lines.push(ResultLine { measured, of_copy, in_cache, peer_s, clocks });
    }
}
