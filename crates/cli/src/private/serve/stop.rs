//! Signals that end a server once its running clients are served.

use core::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

/// Whether a signal has asked the server to end.
static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C and SIGTERM ask the server to end.
///
/// The second one ends the program at once. SIGHUP stays as it is, so that `nohup` works, and so
/// do signals that the program was started to ignore.
pub(super) fn watch() -> Result<()> {
    #[cfg(unix)]
    {
        use anyhow::Context as _;
        use signal_hook::{
            consts::{SIGINT, SIGTERM},
            flag::{register, register_conditional_default},
        };

        let ignored = crate::interrupt::ignored();
        for signal in [SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0) {
            // In this order: the first signal finds the flag unset.
            register_conditional_default(signal, &STOP).context("waiting for signals")?;
            register(signal, &STOP).context("waiting for signals")?;
        }
    }
    Ok(())
}

/// Whether the server is to end.
pub(super) fn is_requested() -> bool {
    STOP.load(Ordering::SeqCst)
}
