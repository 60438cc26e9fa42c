//! Handles and records of NCCL, laid out as C declares them.

use std::ffi::{c_char, c_void};

use crate::types::handles;

/// The number of `ncclUint32` among NCCL's types of data.
pub const UINT32: i32 = 3;

handles! {
    /// A communicator: the place of one rank. Its caller keeps apart what may not meet.
    Comm;
}

/// Identifier by which the ranks of a group find each other; passed by value.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UniqueId {
    /// Bytes that mean something to the library alone.
    pub internal: [c_char; 128],
}

impl Default for UniqueId {
    fn default() -> Self {
        Self { internal: [0; 128] }
    }
}

/// The configuration of a communicator.
///
/// The record is the version of release 2.14, which later releases accept.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    size: usize,
    magic: u32,
    version: u32,
    /// 0 if calls return before they are done, 1 if they wait.
    pub blocking: i32,
    /// Part of a later field in later records: undefined.
    rest: i32,
}

impl Config {
    /// The value of a field that is left to the library.
    const UNDEFINED: i32 = i32::MIN;

    /// Calls that return before they are done.
    #[must_use]
    pub const fn non_blocking() -> Self {
        Self { size: size_of::<Self>(), magic: 0xcafe_beef, version: 21_400, blocking: 0, rest: Self::UNDEFINED }
    }

    /// Whether it was made as the library requires.
    #[must_use]
    pub const fn is_initialised(&self) -> bool {
        self.magic == Self::non_blocking().magic && self.size >= size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The records match `nccl.h` of 2.14.
    ///
    /// The header has `{ size_t size; unsigned int magic, version; int blocking; }`, and 128 bytes
    /// by value.
    #[test]
    fn records_have_the_layout_of_the_header() {
        assert_eq!((size_of::<UniqueId>(), align_of::<UniqueId>()), (128, 1));
        assert_eq!((size_of::<Comm>(), align_of::<Comm>()), (8, 8));
        assert_eq!((size_of::<Config>(), align_of::<Config>()), (24, 8));
        let offsets = [offset_of!(Config, size), offset_of!(Config, magic), offset_of!(Config, version)];
        assert_eq!((offsets, offset_of!(Config, blocking)), ([0, 8, 12], 16));
        let config = Config::non_blocking();
        assert_eq!((config.size, config.magic, config.version, config.blocking), (24, 0xcafe_beef, 21_400, 0));
        assert!(config.is_initialised());
        assert!(!Config { magic: 0, ..config }.is_initialised());
    }
}
