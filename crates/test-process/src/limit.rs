//! A time limit for code that waits for other threads.

use std::{
    io::Write as _,
    process,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use crate::test_name;

/// Runs `test`, and aborts the process if it takes longer than `limit`.
///
/// A thread that hangs cannot be stopped, and it may hold what other tests wait for. So the whole program ends, with the
/// names of the caller and of its thread on standard error.
///
/// # Panics
/// If `test` panics, or the thread that watches it cannot be started.
pub fn within<V, F: FnOnce() -> V>(limit: Duration, test: F) -> V {
    let name = test_name::<F>();
    let thread = thread::current().name().unwrap_or("without a name").to_owned();
    let (done, is_done) = mpsc::channel::<()>();
    let watch = move || {
        if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // libtest captures `eprintln!`, also of threads that a test starts, and an abort loses the capture.
            let message = format!(
                "\n`{name}` hangs (thread {thread}): expected an end within {limit:?}. The test program ends.\n"
            );
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
