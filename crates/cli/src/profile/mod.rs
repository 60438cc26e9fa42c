//! `--profile FILE`: the calls on queues as a table, and in Chrome's trace event format.

mod calls;
mod device;
mod lines;
mod summary;

use core::fmt;
use std::{
    env,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Instant,
};

use runtime::mark_calls;
use tracing::Subscriber;
use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt as _, registry::LookupSpan};

use self::lines::{MoreLines, WholeLines, WriteFailure};
pub(crate) use self::{
    calls::{CallLog, ProfiledCall},
    summary::{ProfileSummary, aligned, giga, millions},
};
use crate::exit::note;

/// The calls of this process, if anything records them.
static CALLS: OnceLock<CallLog> = OnceLock::new();

/// A profile that is being written.
///
/// Its file is complete when [`finish`](Self::finish) returns or, after a panic, when it is
/// dropped. Where the process ends before that, the file ends with the last line that was written,
/// which is an event.
pub(crate) struct Profile {
    written: FlushGuard,
    /// The time 0 of the file.
    start: Instant,
    more: MoreLines,
    failure: WriteFailure,
    path: PathBuf,
    calls: CallLog,
}

/// Why there is no profile.
#[derive(Debug)]
pub(crate) struct ProfileError {
    path: PathBuf,
    reason: io::Error,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "writing the profile {}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for ProfileError {}

impl Profile {
    /// Opens the file, and subscribes to the spans of all queues of this process.
    ///
    /// Once in a process, and before [`calls`].
    pub(crate) fn begin(path: &Path) -> Result<Self, ProfileError> {
        let file = File::create(path).map_err(|reason| ProfileError { path: path.to_owned(), reason })?;
        let (more, failure) = (MoreLines::default(), WriteFailure::default());
        let writer = WholeLines::new(file, more.clone(), failure.clone());
        let (layer, written) =
            ChromeLayerBuilder::new().writer(writer).include_args(true).include_locations(false).build();
        let start = Instant::now();
        let calls = CALLS.get_or_init(CallLog::default).clone();
        install(subscriber(calls.clone()).with(layer));
        Ok(Self { written, start, more, failure, path: path.to_owned(), calls })
    }

    /// Runs `body`, and adds the device's time of each call that this thread makes on a device.
    ///
    /// Two events of the device for each call are kept until `body` returns. Nothing is recorded on
    /// a GPU within `body`, as within [`mark_calls`].
    pub(crate) fn with_device_times<R>(&self, body: impl FnOnce() -> R) -> R {
        let ((result, marked), spans) = self.calls.spans_during(|| mark_calls(body));
        let calls = device::device_calls(spans, &marked);
        self.calls.add_device_times(&calls);
        self.more.set(device::events(&calls, self.start));
        result
    }

    /// Completes the file, and prints the calls on standard error.
    ///
    /// They are a table, or a line of JSON if the command was given `--json`.
    pub(crate) fn finish(self) -> Result<(), ProfileError> {
        let Self { written, failure, path, calls, .. } = self;
        drop(written);
        let summary = ProfileSummary::of(&calls);
        let text = match (summary.is_empty(), is_json()) {
            (true, _) => Ok(String::new()),
            (false, true) => serde_json::to_string(&summary).map(|line| line + "\n").map_err(io::Error::other),
            (false, false) => Ok(format!("\n{summary}")),
        };
        let printed = text.and_then(|text| note(&text).map_err(io::Error::other));
        let reason = failure.take().or(printed.err());
        reason.map_or(Ok(()), |reason| Err(ProfileError { path, reason }))
    }
}

/// The calls of this process on its queues, recorded from now on.
///
/// [`Profile`] records them too, into the same log.
pub(crate) fn calls() -> CallLog {
    let record = || {
        let calls = CallLog::default();
        install(subscriber(calls.clone()));
        calls
    };
    CALLS.get_or_init(record).clone()
}

/// A subscriber to the spans of all queues, which adds them to `calls`.
pub(crate) fn subscriber(calls: CallLog) -> impl Subscriber + for<'span> LookupSpan<'span> + Send + Sync {
    let queues = Targets::new().with_target(runtime::TRACE_TARGET, tracing::Level::DEBUG);
    tracing_subscriber::registry().with(queues).with(calls)
}

fn install(subscriber: impl Subscriber + Send + Sync + 'static) {
    tracing::subscriber::set_global_default(subscriber).expect("a process begins one profile");
}

/// Whether the command was given `--json`, with or without a file.
fn is_json() -> bool {
    env::args_os().skip(1).any(|arg| arg == "--json" || arg.as_encoded_bytes().starts_with(b"--json="))
}
