//! Locks that outlive a panic, and pauses of waits.
//!
//! Guarded values are valid between statements.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

/// How long a thread that waits asks again without sleeping.
const LOOKING: Duration = Duration::from_micros(200);
/// Its longest sleep.
pub(crate) const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// Locks, even if a thread panicked while holding the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sleeps, for a short time compared with the time already waited.
///
/// So the sleeps barely lengthen measured times.
pub(crate) fn pause(waited: Duration) {
    if waited >= LOOKING {
        thread::sleep(LONGEST_SLEEP.min(waited / 64));
    }
}
