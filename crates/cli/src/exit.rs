//! Exit codes: 0 ok, 1 failed, 2 usage, 3 backend unavailable, 4 keys refused, 5 other party failed.

use core::fmt;
use std::process::ExitCode;

use inference::{InferenceError, Outcome};
use runtime::OpenError;

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const UNAVAILABLE: u8 = 3;
const KEYS_REFUSED: u8 = 4;
const PEER_FAILED: u8 = 5;

/// Arguments that cannot be used, which only their meaning together shows.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Prints an error with its causes and one hint, and gives the code that belongs to it.
pub(crate) fn code(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    eprintln!("error: {error:#}");
    let (code, hint) = match error.downcast_ref::<OpenError>() {
        Some(OpenError::Settings(_)) => (USAGE, "`trefoil doctor` lists every variable and what it accepts"),
        Some(OpenError::Unavailable { .. }) => (UNAVAILABLE, "`trefoil doctor` lists the backends and their reasons"),
        None if error.is::<Usage>() => (USAGE, ""),
        None => match error.downcast_ref::<InferenceError>().map(InferenceError::outcome) {
            Some(Outcome::KeysRefused) => {
                (KEYS_REFUSED, "keys are used once; `trefoil pfss deal` and `gen` make new ones")
            }
            Some(Outcome::PeerFailed) => (PEER_FAILED, ""),
            _ => (FAILED, ""),
        },
        Some(_) => (FAILED, ""),
    };
    if !hint.is_empty() {
        eprintln!("hint: {hint}");
    }
    ExitCode::from(code)
}
