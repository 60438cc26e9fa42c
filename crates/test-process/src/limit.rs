//! Time limits for code that waits for other threads.

use std::{
    io::Write as _,
    panic, process,
    sync::mpsc::{self, RecvTimeoutError, Sender},
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

/// Runs `first` on another thread and `second` on this one, within five minutes.
///
/// It is for two parties that wait for each other. Threads and limit are compiled once.
///
/// # Panics
/// If one of the two panics, with its panic; if both do, with the second's; and as [`within`].
pub fn pair<A: Send, B, F: FnOnce() -> A + Send>(first: F, second: impl FnOnce() -> B) -> (A, B) {
    let (mut a, mut b) = (None, None);
    run_pair(test_name::<F>(), Box::new(|| a = Some(first())), Box::new(|| b = Some(second())));
    a.zip(b).expect("both have returned")
}

fn run_pair(name: String, first: Box<dyn FnOnce() + Send + '_>, second: Box<dyn FnOnce() + '_>) {
    let _watched = watch(name, SCOPE_LIMIT);
    thread::scope(|scope| {
        let other = scope.spawn(first);
        second();
        if let Err(panic) = other.join() {
            panic::resume_unwind(panic);
        }
    });
}

fn watched<V>(name: String, limit: Duration, test: impl FnOnce() -> V) -> V {
    let _watched = watch(name, limit);
    test()
}

/// Aborts the process if the sender is not dropped within `limit`, by a panic or not.
fn watch(name: String, limit: Duration) -> Sender<()> {
    let thread = thread::current().name().unwrap_or("without a name").to_owned();
    let (done, is_done) = mpsc::channel();
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
    done
}
