//! How many elements share a word of bits.

/// Elements are padded to whole 32-bit words of output bits.
pub(crate) const LANES: u64 = 32;
