//! Exit codes of the program.
//!
//! 0 ok, 1 failed, 2 usage, 3 backend unavailable, 4 keys refused, 5 other party failed.

use core::fmt;
use std::io::{self, Write as _};

use collective_mpi::JoinError;
use inference::{InferenceError, Outcome};
use pfss::PfssError;
use runtime::OpenError;

use crate::{isolate::Stop, text::lines};

/// What an error of [`print`](crate::output::print) begins with.
pub(crate) const WRITING_OUTPUT: &str = "writing to standard output";

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const UNAVAILABLE: u8 = 3;
const KEYS_REFUSED: u8 = 4;
const PEER_FAILED: u8 = 5;

/// Arguments that cannot be used together.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// An error of another part of the program, which decided the exit code.
#[derive(Debug)]
pub(crate) struct Relayed {
    code: u8,
    message: String,
    /// Whether it was printed, where what follows it would come too late.
    told: bool,
}

impl Relayed {
    /// The error of a child that ended because it could not start, for this process to repeat.
    pub(crate) fn of(stop: &Stop) -> Option<Self> {
        let Stop::Ended(ending) = stop else { return None };
        let code = [USAGE, UNAVAILABLE].into_iter().find(|&known| ending.code == Some(known.into()))?;
        Some(Self { code, message: ending.said.trim_start_matches("error: ").to_owned(), told: false })
    }

    /// Prints an error.
    pub(crate) fn tell(error: anyhow::Error) -> Self {
        Self { code: code(Err(error)), message: "failed; the error was printed".to_owned(), told: true }
    }
}

impl fmt::Display for Relayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Relayed {}

/// Prints an error with its causes and one hint, and returns its exit code.
pub(crate) fn code(result: anyhow::Result<()>) -> u8 {
    let Err(error) = result else { return 0 };
    if is_closed_output(&error) {
        return 0;
    }
    let relayed = error.downcast_ref::<Relayed>();
    if let Some(Relayed { code, told: true, .. }) = relayed {
        return *code;
    }
    say("error", &with_causes(&error));
    let (code, hint) = match error.downcast_ref::<OpenError>() {
        Some(OpenError::Settings(_)) => (USAGE, "`trefoil doctor` lists every variable and what it accepts"),
        Some(OpenError::Unavailable { .. }) => (UNAVAILABLE, "`trefoil doctor` lists the backends and their reasons"),
        None if error.is::<UsageError>() => (USAGE, ""),
        None if error.downcast_ref() == Some(&JoinError::NotBuilt) => (
            UNAVAILABLE,
            "`cargo build --release --package trefoil-cli --features mpi` builds it with MPI; to make independent \
             proofs, start the processes without MPI, for example with `srun --mpi=none`",
        ),
        None if let Some(relayed) = relayed => (relayed.code, ""),
        None => match error.downcast_ref::<InferenceError>() {
            Some(InferenceError::Exists { .. }) => (USAGE, ""),
            Some(InferenceError::Used { .. } | InferenceError::Pfss(PfssError::ReusedBundle { .. })) => {
                (KEYS_REFUSED, "keys are used once; `trefoil pfss deal` and `gen` make new ones")
            }
            Some(error) if error.outcome() == Outcome::KeysRefused => (KEYS_REFUSED, ""),
            Some(error) if error.outcome() == Outcome::PeerFailed => (PEER_FAILED, ""),
            _ => (FAILED, ""),
        },
        Some(_) => (FAILED, ""),
    };
    if !hint.is_empty() {
        say("hint", hint);
    }
    code
}

/// Whether the reader of standard output has gone, as `head` does when it has enough.
fn is_closed_output(error: &anyhow::Error) -> bool {
    let is_broken = error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    // A file that is a pipe is named in the error, and whoever reads it waits for all of it.
    let of_output = error.chain().count() == 1 || error.to_string() == WRITING_OUTPUT;
    is_broken && of_output
}

/// Prints a line on standard error.
///
/// Failures are ignored: there is no other place to report them.
pub(crate) fn say(what: &str, message: &str) {
    // At once: other processes may write there too.
    let line = format!("{what}: {}\n", lines(message));
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Prints text on standard error, for a command that writes a file to standard output.
pub(crate) fn note(text: &str) -> anyhow::Result<()> {
    let _ = io::stderr().lock().write_all(text.as_bytes());
    Ok(())
}

/// An error's message and the messages of its causes.
///
/// Leaves out each cause that an earlier message already includes, as messages of some libraries
/// do.
fn with_causes(error: &anyhow::Error) -> String {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message.extend([": ", &cause]);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use core::error::Error;
    use std::io::{self, ErrorKind};

    use anyhow::{Context as _, anyhow};
    use backend_api::BackendError;
    use conformance::Failure;
    use cpu_backend::CpuError;
    use inference::tls::TlsError;
    use nn_ops::NnError;
    use pfss::{BundleError, ChannelError, OperationError, PfssError, RangeError, softmax::LayoutError, suf::SufError};
    use runtime::{Choice, SettingsError, Unavailable};
    use stark_fft::FftError;

    use super::*;

    fn not_found() -> io::Error {
        ErrorKind::NotFound.into()
    }

    #[test]
    fn no_error_says_what_its_cause_says() {
        let device = || BackendError::OutOfMemory { bytes: 7 };
        let channel = || ChannelError::Lost { doing: "receiving" };
        let (range, suf) = (RangeError::Shift { f: 64 }, || SufError::RingWidth { got: 65 });
        let settings = SettingsError::Backend { variable: "V", value: "gup".into(), expected: "`cpu`" };
        let lost = TlsError::Lost { doing: "connecting", reason: "refused".into() };
        let errors: [Box<dyn Error>; 20] = [
            Box::new(InferenceError::Io { doing: "opening", path: "file".into(), reason: not_found() }),
            Box::new(InferenceError::Tls(lost)),
            Box::new(InferenceError::Tls(TlsError::Channel(channel()))),
            Box::new(InferenceError::Pfss(PfssError::Channel(channel()))),
            Box::new(InferenceError::Pfss(PfssError::Backend(device()))),
            Box::new(InferenceError::Range(range)),
            Box::new(InferenceError::Layout(LayoutError::RowLength { row: 0, cols: 1, got: 2 })),
            Box::new(TlsError::Channel(channel())),
            Box::new(PfssError::Suf(suf())),
            Box::new(BundleError::Program(suf())),
            Box::new(PfssError::Range(range)),
            Box::new(OperationError::Gate(PfssError::Suf(suf()))),
            Box::new(OpenError::Settings(settings.clone())),
            Box::new(OpenError::Cpu(CpuError::Threads { threads: 3, reason: "no".into() })),
            Box::new(OpenError::Unavailable { requested: Choice::Gpu, reason: Unavailable::NotBuilt }),
            Box::new(settings),
            Box::new(Unavailable::NotBuilt),
            Box::new(NnError::Backend(device())),
            Box::new(FftError::Backend(device())),
            Box::new(Failure::Backend(device())),
        ];
        for error in &errors {
            let mut error: &dyn Error = &**error;
            while let Some(cause) = error.source() {
                assert!(!error.to_string().contains(&cause.to_string()), "{error}");
                error = cause;
            }
        }
    }

    #[test]
    fn a_cause_is_printed_once() {
        let read = Err::<(), _>(not_found()).context("reading x").context("opening").unwrap_err();
        assert_eq!(with_causes(&read), "opening: reading x: entity not found");
        let persisted = tempfile::PersistError { error: not_found(), file: tempfile::NamedTempFile::new().unwrap() };
        assert_eq!(format!("{persisted}"), "failed to persist temporary file: entity not found");
        let written = anyhow!(persisted).context("writing x");
        assert_eq!(with_causes(&written), "writing x: failed to persist temporary file: entity not found");
    }
}
