//! Commands whose parts run in separate processes.
//!
//! A fault, a hang or a crash costs one part.
//!
//! A part is this program again, reporting its events as lines of JSON on standard output. The
//! process that watches it waits a limited time for each line, and kills a part that is silent for
//! longer.

mod child;
mod events;

use std::time::{Duration, Instant};

use runtime::Settings;

pub(crate) use child::{Child, Stop};
pub(crate) use events::{Events, STDOUT};

/// How long a part may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimits {
    /// The longest silence.
    silence: Duration,
    /// When everything ends.
    end: Option<Instant>,
}

impl TimeLimits {
    /// Limits that count from now: seconds of silence, and seconds in all.
    pub(crate) fn new(silence_s: u64, all_s: Option<u64>) -> Self {
        let end = all_s.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
        Self { silence: Duration::from_secs(silence_s), end }
    }

    /// Whether there is no time left.
    pub(crate) fn are_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// The longest wait for a line from now on.
    fn wait(&self) -> Duration {
        self.left().map_or(self.silence, |left| left.min(self.silence))
    }

    /// Environment variables of a part.
    ///
    /// The device of a part is given up before the part itself, so that the part can report which
    /// kernels hang. A limit that is already set stays.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        if Settings::from_env().is_ok_and(|settings| settings.gpu_timeout.is_some()) {
            return Vec::new();
        }
        vec![("TREFOIL_GPU_TIMEOUT", format!("{}", self.silence.as_secs_f64() * 0.75))]
    }

    fn left(&self) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }
}
