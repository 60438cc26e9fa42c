//! `--trace FILE`: what the queues were asked to do, in the format of Chrome's traces, which Perfetto reads too.

use core::fmt;
use std::{
    fs::File,
    io::{self, Write},
    mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tracing_chrome::{ChromeLayerBuilder, FlushGuard};
use tracing_subscriber::{filter::Targets, layer::SubscriberExt as _};

/// A trace that is being written. Its file is complete when [`finish`](Self::finish) returns or, after a panic, when it is
/// dropped.
pub(crate) struct Trace {
    written: FlushGuard,
    failure: Failure,
    path: PathBuf,
}

/// Why there is no trace.
#[derive(Debug)]
pub(crate) struct TraceError {
    path: PathBuf,
    reason: io::Error,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "writing the trace {}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for TraceError {}

impl Trace {
    /// Opens the file, and subscribes to the spans of all queues of this process. Once in a process.
    pub(crate) fn begin(path: &Path) -> Result<Self, TraceError> {
        let file = File::create(path).map_err(|reason| TraceError { path: path.to_owned(), reason })?;
        let failure = Failure::default();
        let writer = Watched { file, failure: failure.clone() };
        let (layer, written) =
            ChromeLayerBuilder::new().writer(writer).include_args(true).include_locations(false).build();
        let queues = Targets::new().with_target(runtime::TRACE_TARGET, tracing::Level::DEBUG);
        let subscriber = tracing_subscriber::registry().with(queues).with(layer);
        tracing::subscriber::set_global_default(subscriber).expect("a process begins one trace");
        Ok(Self { written, failure, path: path.to_owned() })
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<(), TraceError> {
        let Self { written, failure, path } = self;
        drop(written);
        match failure.take() {
            Some(reason) => Err(TraceError { path, reason }),
            None => Ok(()),
        }
    }
}

/// The first failure to write.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    fn take(&self) -> Option<io::Error> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, reason: io::Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }
}

/// A file that keeps its first failure instead of telling it: whoever writes traces panics at one.
struct Watched {
    file: File,
    failure: Failure,
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all(bytes).unwrap_or_else(|reason| self.failure.keep(reason));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().unwrap_or_else(|reason| self.failure.keep(reason));
        Ok(())
    }
}
