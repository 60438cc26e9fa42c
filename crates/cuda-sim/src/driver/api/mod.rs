//! The functions of the driver API, by theme.
//!
//! # Safety
//! Pointers are as the CUDA driver API requires of each function: null if it permits that, else
//! valid for its reads and writes. A null pointer where a value must be written is an invalid
//! argument, not undefined behaviour.
#![allow(non_snake_case, reason = "the functions carry the names of the driver API")]
#![allow(clippy::too_many_arguments, reason = "signatures are those of the driver API")]

mod devices;
mod graphs;
mod kernels;
mod memory;
mod streams;

use cuda_loader::{Status, Table};

/// Every function that is simulated.
pub(super) fn table() -> Table {
    let mut table = Table::default();
    for register in [
        devices::init::register,
        devices::device::register,
        devices::context::register,
        kernels::module::register,
        kernels::function::register,
        kernels::launch::register,
        memory::allocation::register,
        memory::host::register,
        memory::copy::register,
        memory::fill::register,
        memory::pool::register,
        memory::pointer::register,
        streams::stream::register,
        streams::stream_capture::register,
        streams::event::register,
        graphs::graph::register,
        graphs::node::register,
        graphs::exec::register,
        devices::peer::register,
    ] {
        register(&mut table);
    }
    table
}

/// Writes `value` through `out`.
///
/// # Safety
/// `out` is null or valid for a write.
unsafe fn write<T>(out: *mut T, value: T) -> Result<(), Status> {
    if out.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: not null, so valid by the contract.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

/// Writes a value through a pointer that the caller of the driver gave.
macro_rules! put {
    ($out:expr, $value:expr) => {{
        let value = $value;
        // SAFETY: the pointer is one of the call's, null or valid by the contract of the driver API.
        unsafe { $crate::driver::api::write($out, value) }
    }};
}

/// As `put!`, but writes nothing through a null pointer.
macro_rules! offer {
    ($out:expr, $value:expr) => {{
        let out = $out;
        if out.is_null() { Ok(()) } else { $crate::driver::api::put!(out, $value) }
    }};
}

/// Reads a value through a pointer that the caller of the driver gave.
macro_rules! get {
    ($from:expr) => {{
        let from = $from;
        if from.is_null() {
            Err(cuda_loader::Status::INVALID_VALUE)
        } else {
            // SAFETY: the pointer is one of the call's and not null, so valid by the contract of the driver API.
            Ok(unsafe { from.read_unaligned() })
        }
    }};
}

/// Copies a C string that the caller of the driver gave.
macro_rules! text {
    ($from:expr) => {{
        let from = $from;
        if from.is_null() {
            Err(cuda_loader::Status::INVALID_VALUE)
        } else {
            // SAFETY: the pointer is one of the call's and not null, so a C string by the contract of the driver API.
            Ok(unsafe { std::ffi::CStr::from_ptr(from) }.to_string_lossy().into_owned())
        }
    }};
}

/// Copies an array that the caller of the driver gave.
macro_rules! array {
    ($from:expr, $count:expr) => {{
        let (from, count) = ($from, $count);
        if count == 0 {
            Ok(Vec::new())
        } else if from.is_null() {
            Err(cuda_loader::Status::INVALID_VALUE)
        } else {
            // SAFETY: the pointer is one of the call's and not null, so valid for `count` values by the contract of the
            // driver API.
            Ok(unsafe { std::slice::from_raw_parts(from, count) }.to_vec())
        }
    }};
}

/// Puts functions of the enclosing module into a table under their names.
macro_rules! register {
    ($($name:ident)*) => {
        /// Adds this module's functions.
        pub(in crate::driver::api) fn register(table: &mut cuda_loader::Table) {
            $(table.$name = Some($name);)*
        }
    };
}

use {array, get, offer, put, register, text};

/// Writes `values` and their number in the driver API's convention for lists.
///
/// With a null array, it writes the number only. Otherwise it writes at most the number that the
/// caller has room for.
///
/// # Safety
/// `count` is null or valid; `out` is null or valid for `*count` values.
unsafe fn list<T: Copy>(values: &[T], out: *mut T, count: *mut usize) -> Result<(), Status> {
    if out.is_null() {
        return put!(count, values.len());
    }
    let room = get!(count)?;
    for (at, value) in values.iter().take(room).enumerate() {
        put!(out.wrapping_add(at), *value)?;
    }
    put!(count, values.len().min(room))
}

/// Copies `text` with its end mark into a buffer of `len` bytes, cut if need be.
///
/// # Safety
/// `out` is null or valid for `len` bytes.
unsafe fn write_text(text: &str, out: *mut std::ffi::c_char, len: usize) -> Result<(), Status> {
    let Some(room) = len.checked_sub(1) else { return Err(Status::INVALID_VALUE) };
    let mut end = 0;
    for byte in text.bytes().take(room) {
        put!(out.wrapping_add(end), byte as std::ffi::c_char)?;
        end += 1;
    }
    put!(out.wrapping_add(end), 0)
}
