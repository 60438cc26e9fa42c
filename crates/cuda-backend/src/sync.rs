//! Locks that outlive a panic: what they guard is valid between statements.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, even if a thread panicked while holding the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
