//! How many elements share a word of bits.

/// Elements are padded to whole 32-bit words of output bits.
pub(crate) const LANES: u64 = 32;

/// The lanes of word `word` of a row that hold elements, of `count` in all.
///
/// The word holds at least one.
pub(crate) fn live(count: usize, word: usize) -> u32 {
    u32::MAX >> (32 - (count - 32 * word).min(32))
}
