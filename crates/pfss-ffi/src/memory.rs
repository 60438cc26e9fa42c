//! The caller's pointers, checked as far as they can be.

use core::slice;

use crate::status::CallFailure;

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

/// Hands a new handle to the caller.
///
/// # Safety
/// As [`put`].
pub(crate) unsafe fn put_handle<T>(what: &str, value: T, to: *mut *mut T) -> Result<(), CallFailure> {
    check(what, to, 1)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    unsafe { to.write(Box::into_raw(Box::new(value))) };
    Ok(())
}

/// The object that a handle stands for.
///
/// # Safety
/// As said at the top of the crate: unless null, `handle` came from [`put_handle`] with this type,
/// was not freed, and is in no other use.
pub(crate) unsafe fn handle<'a, T>(what: &str, handle: *mut T) -> Result<&'a mut T, CallFailure> {
    check(what, handle, 1)?;
    // SAFETY: a live handle without other users, by the caller's promise.
    Ok(unsafe { &mut *handle })
}

/// Frees a handle; null is none.
///
/// # Safety
/// As [`handle`], and the handle is not used again.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it came from `Box::into_raw` in `put_handle`, and is freed once, by the caller's promise.
        drop(unsafe { Box::from_raw(handle) });
    }
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
