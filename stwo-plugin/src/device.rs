//! The queue that everything runs on, one for a process.

use std::{
    fmt::Display,
    sync::{Mutex, OnceLock, PoisonError},
};

use backend_api::{BackendKind, Queue};
use runtime::{AnyQueue, OpenError};

static QUEUE: OnceLock<AnyQueue> = OnceLock::new();

/// Held while the queue is opened, so that it is opened once.
static OPENING: Mutex<()> = Mutex::new(());

/// Opens the queue that [`TrefoilBackend`](crate::TrefoilBackend) runs on.
///
/// The first call opens it as selected by `TREFOIL_BACKEND`; later calls return the same queue.
///
/// The backend calls it, too, and panics if it returns an error: call it first.
///
/// # Errors
/// The error that prevents the selected backend from being opened. There is no fallback.
pub fn open() -> Result<&'static AnyQueue, OpenError> {
    let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(queue) = QUEUE.get() {
        return Ok(queue);
    }
    let (queue, _) = runtime::open()?;
    Ok(QUEUE.get_or_init(|| queue))
}

/// Chooses the queue that [`TrefoilBackend`](crate::TrefoilBackend) runs on.
///
/// It replaces the queue that the environment selects.
///
/// # Errors
/// The queue comes back if the process has one already.
pub fn install(queue: AnyQueue) -> Result<(), AnyQueue> {
    let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    QUEUE.set(queue)
}

/// The queue of the process.
#[track_caller]
pub(crate) fn queue() -> &'static AnyQueue {
    match QUEUE.get() {
        Some(queue) => queue,
        None => done(open()),
    }
}

/// Whether reading takes a wait for a device, so that it is worth it to read ahead.
pub(crate) fn reads_wait() -> bool {
    queue().caps().kind != BackendKind::Cpu
}

/// Unwraps the result of an operation.
///
/// stwo's traits have no place for errors, so a failed device ends the proof with a panic.
#[track_caller]
pub(crate) fn done<T, E: Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("trefoil: {error}"),
    }
}
