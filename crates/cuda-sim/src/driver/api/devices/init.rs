//! Start, version and names of codes.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::{
    collections::BTreeMap,
    ffi::{CString, c_char},
    sync::{Mutex, PoisonError},
};

use cuda_loader::Status;

use crate::driver::{
    api::{put, register},
    entry::{Needs, call},
};

register! { cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString cuProfilerStart cuProfilerStop }

unsafe extern "C" fn cuInit(flags: u32) -> Status {
    call("cuInit", Needs::Driver, |entry| match flags {
        0 if entry.driver().devices.is_empty() => Err(Status::NO_DEVICE),
        0 => Ok(()),
        _ => Err(Status::INVALID_VALUE),
    })
}

unsafe extern "C" fn cuDriverGetVersion(version: *mut i32) -> Status {
    call("cuDriverGetVersion", Needs::Driver, |entry| put!(version, entry.driver().spec.driver_version))
}

/// Writes the text of a code, or null.
fn describe(name: &'static str, known: Option<&'static str>, out: *mut *const c_char) -> Status {
    call(name, Needs::Driver, |_| match known.and_then(c_text) {
        Some(text) => put!(out, text),
        None => put!(out, std::ptr::null()).and(Err(Status::INVALID_VALUE)),
    })
}

unsafe extern "C" fn cuGetErrorName(error: i32, text: *mut *const c_char) -> Status {
    describe("cuGetErrorName", Status(error).name(), text)
}

unsafe extern "C" fn cuGetErrorString(error: i32, text: *mut *const c_char) -> Status {
    describe("cuGetErrorString", Status(error).text(), text)
}

unsafe extern "C" fn cuProfilerStart() -> Status {
    call("cuProfilerStart", Needs::Context, |_| Ok(()))
}

unsafe extern "C" fn cuProfilerStop() -> Status {
    call("cuProfilerStop", Needs::Context, |_| Ok(()))
}

/// A C string of a static text, made once and kept.
fn c_text(text: &'static str) -> Option<*const c_char> {
    static TEXTS: Mutex<BTreeMap<&'static str, CString>> = Mutex::new(BTreeMap::new());
    let made = CString::new(text).ok()?;
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    Some(texts.entry(text).or_insert(made).as_ptr())
}
