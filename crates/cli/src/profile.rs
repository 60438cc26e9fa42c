//! `--profile FILE`: the calls on the queues in Chrome's trace event format, as for Perfetto.

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

/// A profile that is being written.
///
/// Its file is complete when [`finish`](Self::finish) returns or, after a panic, when it is
/// dropped. Where the process ends before that, the file ends with the last line that was written,
/// which is an event.
pub(crate) struct Profile {
    written: FlushGuard,
    failure: WriteFailure,
    path: PathBuf,
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
    /// Once in a process.
    pub(crate) fn begin(path: &Path) -> Result<Self, ProfileError> {
        let file = File::create(path).map_err(|reason| ProfileError { path: path.to_owned(), reason })?;
        let failure = WriteFailure::default();
        let writer = Lines { file, begun: Vec::new(), failure: failure.clone() };
        let (layer, written) =
            ChromeLayerBuilder::new().writer(writer).include_args(true).include_locations(false).build();
        let queues = Targets::new().with_target(runtime::TRACE_TARGET, tracing::Level::DEBUG);
        let subscriber = tracing_subscriber::registry().with(queues).with(layer);
        tracing::subscriber::set_global_default(subscriber).expect("a process begins one profile");
        Ok(Self { written, failure, path: path.to_owned() })
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<(), ProfileError> {
        let Self { written, failure, path } = self;
        drop(written);
        match failure.take() {
            Some(reason) => Err(ProfileError { path, reason }),
            None => Ok(()),
        }
    }
}

/// The first failure to write.
#[derive(Clone, Default)]
struct WriteFailure(Arc<Mutex<Option<io::Error>>>);

impl WriteFailure {
    fn take(&self) -> Option<io::Error> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, reason: io::Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }
}

/// A file that is written in whole lines and keeps its first failure.
///
/// A file that is cut can thus be read. Failures are not returned, because the writer of profiles
/// panics on one.
struct Lines<W> {
    file: W,
    /// A line whose end is still to come.
    begun: Vec<u8>,
    failure: WriteFailure,
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let (ends, begins) = bytes.split_at(whole);
        if !ends.is_empty() {
            self.begun.extend_from_slice(ends);
            let lines = mem::take(&mut self.begun);
            self.file.write_all(&lines).unwrap_or_else(|reason| self.failure.keep(reason));
        }
        self.begun.extend_from_slice(begins);
        Ok(bytes.len())
    }

    /// Writes the line that has no end, too.
    fn flush(&mut self) -> io::Result<()> {
        let last = mem::take(&mut self.begun);
        self.file.write_all(&last).and_then(|()| self.file.flush()).unwrap_or_else(|reason| self.failure.keep(reason));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps written pieces separate.
    struct Pieces<'a>(&'a mut Vec<Vec<u8>>);

    impl Write for Pieces<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_file_is_given_whole_lines_however_they_come() {
        let text = b"[\n{\"a\":1},\n{\"b\":22},\n\n{\"c\":333}\n]";
        for len in 1..=text.len() {
            let mut pieces = Vec::new();
            let mut lines = Lines { file: Pieces(&mut pieces), begun: Vec::new(), failure: WriteFailure::default() };
            text.chunks(len).for_each(|chunk| lines.write_all(chunk).unwrap());
            lines.flush().unwrap();
            assert_eq!(pieces.concat(), text, "{len}");
            assert!(pieces[..pieces.len() - 1].iter().all(|piece| piece.ends_with(b"\n")), "{len}");
        }
    }
}
