//! Signals that end the program while it writes secrets.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Context as _, Result};
use inference::folder::remove_unfinished;

/// Whether a signal is ending the program.
static ENDING: AtomicBool = AtomicBool::new(false);

/// From now on a signal that ends the program has it remove unfinished folders of keys first.
pub(crate) fn watch() -> Result<()> {
    start().context("waiting for signals")
}

#[cfg(unix)]
fn start() -> io::Result<()> {
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM},
        iterator::Signals,
        low_level::emulate_default_handler,
    };

    let ignored = ignored();
    let mut signals =
        Signals::new([SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0))?;
    let wait = move || {
        for signal in signals.forever() {
            ENDING.store(true, Ordering::SeqCst);
            remove_unfinished();
            // Ends the program as if nothing had waited for the signal.
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

#[cfg(not(unix))]
fn start() -> io::Result<()> {
    Ok(())
}

/// The signals that the program was started with ignored, a bit each, from signal 1.
///
/// `nohup` and scripts have background programs ignore signals. They stay ignored.
#[cfg(unix)]
pub(crate) fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Waits for the end of the program if a signal is ending it.
///
/// A failure in the meantime is a consequence of the signal.
pub(crate) fn wait_if_ending() {
    while ENDING.load(Ordering::SeqCst) {
        thread::park();
    }
}
