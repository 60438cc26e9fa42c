//! A part, as seen by the process that watches it: events, silence, an end.

use core::fmt;
use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader, Read},
    process::{self, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;

use super::TimeLimits;

/// How long a process that was killed, or closed its output, may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of standard error that are kept: the last ones say what went wrong.
const KEPT_BYTES: usize = 2000;

/// A child process of this program.
pub(crate) struct Child {
    process: process::Child,
    lines: Receiver<String>,
    /// Reads standard error, and returns what came last.
    errors: Option<JoinHandle<Vec<u8>>>,
}

/// Why no further event of a child follows.
pub(crate) enum Stop {
    /// There is no time left.
    OutOfTime,
    /// It was silent for too long and was killed.
    Hung(String),
    /// It ended.
    Ended(Ending),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfTime => f.write_str("out of time"),
            Self::Hung(reason) => f.write_str(reason),
            Self::Ended(ending) => ending.fmt(f),
        }
    }
}

/// How a child ended.
pub(crate) struct Ending {
    /// Its exit code, if it was not killed.
    pub(crate) code: Option<i32>,
    /// How it ended.
    how: String,
    /// The end of its standard error.
    pub(crate) said: String,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { how, said, .. } = self;
        if said.is_empty() { write!(f, "{how}") } else { write!(f, "{how}: {said}") }
    }
}

impl Child {
    /// Starts this program with these arguments and variables.
    pub(crate) fn start(arguments: &[OsString], variables: &[(&str, String)]) -> Result<Self> {
        let program = std::env::current_exe().context("looking for this program")?;
        let mut process = Command::new(&program)
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let (tell, lines) = mpsc::channel();
        if let Some(out) = process.stdout.take() {
            thread::spawn(move || {
                BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| tell.send(line).ok())
            });
        }
        let errors = process.stderr.take().map(|out| thread::spawn(move || last_of(out)));
        Ok(Self { process, lines, errors })
    }

    /// Waits for the next event.
    ///
    /// A line that is not an event is an error of the child, and ends it.
    pub(crate) fn hear<E: DeserializeOwned>(&mut self, limits: &TimeLimits) -> Result<E, Stop> {
        match self.lines.recv_timeout(limits.wait()) {
            Ok(line) => serde_json::from_str(&line).map_err(|_| {
                let how = format!("expected an event from its process, got `{line}`");
                Stop::Ended(Ending { how, ..self.kill() })
            }),
            Err(RecvTimeoutError::Timeout) if limits.are_over() => Err(Stop::OutOfTime),
            Err(RecvTimeoutError::Timeout) => {
                let silence = limits.silence.as_secs();
                Err(Stop::Hung(format!("no event for {silence} s; {}", self.kill())))
            }
            Err(RecvTimeoutError::Disconnected) => Err(Stop::Ended(match self.wait() {
                Some(status) => self.ending(Some(status)),
                None => self.kill(),
            })),
        }
    }

    /// Ends it, whatever it is doing.
    fn kill(&mut self) -> Ending {
        // It fails for a process that is gone.
        let _gone = self.process.kill();
        let status = self.wait();
        self.ending(status)
    }

    /// Waits briefly for the process to end.
    ///
    /// A process inside a driver call may live on after it is killed.
    fn wait(&mut self) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }

    fn ending(&mut self, status: Option<ExitStatus>) -> Ending {
        let Some(status) = status else {
            return Ending { code: None, how: "its process was killed but has not ended".into(), said: String::new() };
        };
        // With the process its end of the pipe is gone.
        let said = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        Ending { code: status.code(), how: format!("its process ended with {status}"), said }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads to the end, and returns what came last.
fn last_of(mut out: impl Read) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(len @ 1..) = out.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..len]);
        let excess = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..excess);
    }
    kept
}
