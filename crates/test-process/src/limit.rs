//! Time limits for code that waits for other threads.

use std::{
    io::Write as _,
    process,
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, Scope},
    time::Duration,
};

use crate::test_name;

/// The limit of [`scope`].
const SCOPE_LIMIT: Duration = Duration::from_mins(5);

/// [`std::thread::scope`] with a time limit of five minutes.
///
/// It is for tests whose threads wait for each other.
///
/// # Panics
/// As [`within`].
pub fn scope<'env, V, F>(threads: F) -> V
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> V,
{
    watched(test_name::<F>(), SCOPE_LIMIT, || thread::scope(threads))
}

/// Runs `test`, and aborts the process if it takes longer than `limit`.
///
/// A thread that hangs cannot be stopped, and it may hold what other tests wait for. So the whole
/// program ends, with the names of the caller and of its thread on standard error.
///
/// # Panics
/// If `test` panics, or the thread that watches it cannot be started.
pub fn within<V, F: FnOnce() -> V>(limit: Duration, test: F) -> V {
    watched(test_name::<F>(), limit, test)
}

fn watched<V>(name: String, limit: Duration, test: impl FnOnce() -> V) -> V {
    let thread = thread::current().name().unwrap_or("without a name").to_owned();
    let (done, is_done) = mpsc::channel::<()>();
    let watch = move || {
        if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // libtest captures `eprintln!`, also of threads that a test starts, and an abort loses the capture.
            let message =
                format!("\n`{name}` hangs (thread {thread}): expected an end within {limit:?}. The program ends.\n");
            std::io::stderr().write_all(message.as_bytes()).ok();
            process::abort();
        }
    };
    thread::Builder::new().name("watchdog".to_owned()).spawn(watch).expect("a thread can be started");
    let value = test();
    // A panic of `test` drops the sender as well, which ends the watch.
    drop(done);
    value
}
