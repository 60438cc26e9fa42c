//! Elements and bytes as a device allocates them.

use crate::lanes::LANES;

/// Device allocators hand out whole granules.
const GRANULE_BYTES: u64 = 512;
/// What an allocator may lose to alignment before a buffer.
const SLACK_BYTES: u64 = 64;

/// Elements of a row of keys: `count`, rounded up to whole words of bits.
pub(super) fn padded(count: usize) -> u64 {
    (count as u64).next_multiple_of(LANES)
}

/// The most device memory that a buffer of `bytes` bytes takes.
pub(super) fn granules(bytes: u64) -> u64 {
    (bytes + SLACK_BYTES).next_multiple_of(GRANULE_BYTES)
}
