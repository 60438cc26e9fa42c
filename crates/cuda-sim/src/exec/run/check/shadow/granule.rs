//! Granules: the units of memory of the race checkers.

use std::ops::Range;

/// Bytes that the race checkers tell apart: a power of two.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec::run::check) struct Granule {
    shift: u32,
}

impl Granule {
    /// The granule of `bytes` bytes.
    pub(super) fn new(bytes: u64) -> Self {
        debug_assert!(bytes.is_power_of_two(), "{bytes}");
        Self { shift: bytes.trailing_zeros() }
    }

    /// Numbers of the granules that an access touches.
    #[inline]
    pub(super) fn places(self, address: u64, bytes: u64) -> Range<u64> {
        address >> self.shift..((address + bytes - 1) >> self.shift) + 1
    }

    /// First byte of a granule.
    #[inline]
    pub(super) fn address(self, place: u64) -> u64 {
        place << self.shift
    }
}
