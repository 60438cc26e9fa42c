//! A 128-bit block as two words.

/// Words `2j` and `2j + 1` of a payload are the low and high half of value block `j`.
#[inline]
#[must_use]
pub const fn block_words(block: u128) -> [u64; 2] {
    [block as u64, (block >> 64) as u64]
}
