//! The caller's pointers, checked as far as they can be.

use core::{
    ffi::{CStr, c_char},
    slice,
};
use std::{
    borrow::Cow,
    sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError},
};

use crate::status::{CallFailure, Status, guard};

/// The array that `data` points at.
///
/// # Safety
/// As said at the top of the crate: unless refused, `data` points at `len` initialised elements,
/// not written meanwhile.
pub(crate) unsafe fn array<'a, T>(what: &str, data: *const T, len: usize) -> Result<&'a [T], CallFailure> {
    check(what, data, len)?;
    // SAFETY: not null, aligned, no longer than memory can be; the rest is the caller's promise.
    Ok(if len == 0 { &[] } else { unsafe { slice::from_raw_parts(data, len) } })
}

/// Copies `from` to the array at `data`, whose length `len` must equal the length of `from`.
///
/// # Safety
/// As said at the top of the crate: unless refused, `data` points at `len` writable elements that
/// nothing else refers to.
pub(crate) unsafe fn fill<T: Copy>(what: &str, from: &[T], data: *mut T, len: usize) -> Result<(), CallFailure> {
    CallFailure::unless_len(what, from.len(), len)?;
    check(what, data, len)?;
    if len > 0 {
        // SAFETY: not null, aligned, as long as `from`; the rest is the caller's promise.
        unsafe { data.copy_from_nonoverlapping(from.as_ptr(), len) };
    }
    Ok(())
}

/// Writes one result.
///
/// # Safety
/// As [`fill`], for one element.
pub(crate) unsafe fn put<T>(what: &str, value: T, to: *mut T) -> Result<(), CallFailure> {
    check(what, to, 1)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

/// Hands a new handle to the caller: the address of a lock with the object inside.
///
/// # Safety
/// As [`put`].
pub(crate) unsafe fn put_handle<T>(what: &str, value: T, to: *mut *mut T) -> Result<(), CallFailure> {
    check(what, to, 1)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    unsafe { to.write(Box::into_raw(Box::new(RwLock::new(value))).cast()) };
    Ok(())
}

/// The object that a handle stands for, which threads may read at the same time.
///
/// Refused while another thread changes it.
///
/// # Safety
/// As said at the top of the crate: unless null, `handle` came from [`put_handle`] with this type
/// and was not freed.
pub(crate) unsafe fn shared<'a, T: Sync>(what: &str, handle: *mut T) -> Result<RwLockReadGuard<'a, T>, CallFailure> {
    // SAFETY: the caller's promise.
    match unsafe { lock_of(what, handle) }?.try_read() {
        Ok(object) => Ok(object),
        Err(TryLockError::WouldBlock) => Err(in_use(what)),
        Err(TryLockError::Poisoned(_)) => Err(broken(what)),
    }
}

/// The object that a handle stands for, for one thread.
///
/// Refused while another thread uses it.
///
/// # Safety
/// As [`shared`].
pub(crate) unsafe fn exclusive<'a, T: Send>(
    what: &str,
    handle: *mut T,
) -> Result<RwLockWriteGuard<'a, T>, CallFailure> {
    // SAFETY: the caller's promise.
    match unsafe { lock_of(what, handle) }?.try_write() {
        Ok(object) => Ok(object),
        Err(TryLockError::WouldBlock) => Err(in_use(what)),
        Err(TryLockError::Poisoned(_)) => Err(broken(what)),
    }
}

/// [`exclusive`], after waiting for other threads.
///
/// For calls that hold no other handle exclusively, so that no two threads wait for each other.
///
/// # Safety
/// As [`shared`].
pub(crate) unsafe fn in_turn<'a, T: Send>(what: &str, handle: *mut T) -> Result<RwLockWriteGuard<'a, T>, CallFailure> {
    // SAFETY: the caller's promise.
    unsafe { lock_of(what, handle) }?.write().map_err(|_| broken(what))
}

/// The places of both parties' handles, once both are looked at.
pub(crate) struct BothPlaces<T>([*mut *mut T; 2]);

impl<T> BothPlaces<T> {
    /// Refuses a place that no handle can be written to, before anything is dealt.
    pub(crate) fn new(party_0: *mut *mut T, party_1: *mut *mut T) -> Result<Self, CallFailure> {
        check("party_0", party_0, 1)?;
        check("party_1", party_1, 1)?;
        Ok(Self([party_0, party_1]))
    }

    /// Hands a new handle to the caller for each party.
    ///
    /// # Safety
    /// As [`put`], for both places.
    pub(crate) unsafe fn put(self, [zero, one]: [T; 2]) -> Result<(), CallFailure> {
        let Self([party_0, party_1]) = self;
        // SAFETY: the caller's promise.
        unsafe {
            put_handle("party_0", zero, party_0)?;
            put_handle("party_1", one, party_1)
        }
    }
}

/// Runs a call that copies elements of a handle's object to an array of the caller's.
///
/// Errors name the handle by `who`, and the elements by `what`.
///
/// # Safety
/// As [`exclusive`] and [`fill`].
pub(crate) unsafe fn copy_of<H: Send, T: Copy>(
    (who, handle): (&str, *mut H),
    (what, to, len): (&str, *mut T, usize),
    elements: impl FnOnce(&H) -> Result<&[T], CallFailure>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let object = unsafe { exclusive(who, handle) }?;
        // SAFETY: the caller's promise.
        unsafe { fill(what, elements(&object)?, to, len) }
    })
}

/// The text at `text`, a string of C.
///
/// # Safety
/// Unless null, `text` ends with a zero byte, and is not written meanwhile.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<Cow<'a, str>, CallFailure> {
    check(what, text, 1)?;
    // SAFETY: not null, and a string that ends with a zero byte by the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// Frees a handle; null is none.
///
/// # Safety
/// As [`shared`], and the handle is not used again.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it came from `Box::into_raw` in `put_handle`, and is freed once, by the caller's promise.
        drop(unsafe { Box::from_raw(handle.cast::<RwLock<T>>()) });
    }
}

/// The lock that a handle is the address of.
///
/// # Safety
/// As [`shared`].
unsafe fn lock_of<'a, T>(what: &str, handle: *mut T) -> Result<&'a RwLock<T>, CallFailure> {
    let lock = handle.cast::<RwLock<T>>();
    check(what, lock, 1)?;
    // SAFETY: a live handle of this type, by the caller's promise.
    Ok(unsafe { &*lock })
}

fn in_use(what: &str) -> CallFailure {
    CallFailure::state(format!("{what} is in use by another thread"))
}

/// A call panicked while it changed the object.
fn broken(what: &str) -> CallFailure {
    CallFailure::state(format!("{what} cannot be used: an earlier call failed inside the library"))
}

/// Refuses what no array of `len` elements can be.
pub(crate) fn check<T>(what: &str, data: *const T, len: usize) -> Result<(), CallFailure> {
    if len == 0 {
        return Ok(());
    }
    if data.is_null() {
        return Err(CallFailure::argument(format!("{what} is a null pointer")));
    }
    if !data.is_aligned() {
        return Err(CallFailure::argument(format!("{what} is not aligned to {} bytes", align_of::<T>())));
    }
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(CallFailure::argument(format!("{what} has {len} elements, more than memory holds"))),
    }
}

#[cfg(test)]
mod tests {
    use core::{
        ptr::null_mut,
        sync::atomic::{AtomicPtr, Ordering::Relaxed},
    };
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        thread,
    };

    use super::*;

    /// Whether a second thread can read and change the object now, or the reason why not.
    fn elsewhere(handle: *mut u64) -> [Result<(), String>; 2] {
        let handle = AtomicPtr::new(handle);
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                // SAFETY: a live handle of a word.
                let read = unsafe { shared("word", handle.load(Relaxed)) }.map(drop);
                // SAFETY: a live handle of a word.
                let changed = unsafe { exclusive("word", handle.load(Relaxed)) }.map(drop);
                [read, changed].map(|outcome| outcome.map_err(|failure| format!("{failure:?}")))
            });
            other.join().unwrap()
        })
    }

    #[test]
    fn readers_share_an_object_and_a_writer_has_it_alone() {
        let mut word = null_mut();
        // SAFETY: a place for a handle, and a live handle of a word until it is freed.
        unsafe {
            put_handle("word", 7u64, &mut word).unwrap();
            let reader = shared("word", word).unwrap();
            let [read, changed] = elsewhere(word);
            assert_eq!((*reader, read), (7, Ok(())));
            assert!(changed.unwrap_err().contains("word is in use by another thread"));
            drop(reader);
            let mut writer = exclusive("word", word).unwrap();
            *writer += 1;
            for outcome in elsewhere(word) {
                assert!(outcome.unwrap_err().contains("word is in use by another thread"));
            }
            drop(writer);
            assert_eq!(elsewhere(word), [Ok(()), Ok(())]);
            assert_eq!(*in_turn("word", word).unwrap(), 8);
            free(word);
        }
    }

    #[test]
    fn an_object_that_a_call_left_half_changed_is_refused() {
        let mut word = null_mut();
        // SAFETY: a place for a handle, and a live handle of a word until it is freed.
        unsafe {
            put_handle("word", 7u64, &mut word).unwrap();
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let writer = exclusive("word", word).unwrap();
                assert_eq!(*writer, 0, "half changed");
            }));
            assert!(panicked.is_err());
            let reasons = [shared("word", word).map(drop), exclusive("word", word).map(drop)];
            for refused in reasons.into_iter().chain([in_turn("word", word).map(drop)]) {
                assert!(format!("{:?}", refused.unwrap_err()).contains("an earlier call failed"));
            }
            free(word);
        }
    }
}
