//! Ring elements of k bits as a dense little-endian bit stream: element i occupies the bits i·k .. (i+1)·k.

use crate::Ring;

/// Words of 64 bits that `count` elements of `width` fill, or `None` if the number of bits does not fit `u64`.
#[inline]
#[must_use]
pub const fn packed_words(count: u64, width: Ring) -> Option<u64> {
    match count.checked_mul(width.bits() as u64) {
        Some(bits) => Some(bits.div_ceil(64)),
        None => None,
    }
}

/// Word `index` of the stream of `count` elements, gathered from `element(i)`; bits behind the last element are zero.
#[inline]
pub fn packed_word(index: u64, count: u64, width: Ring, element: impl Fn(u64) -> u64) -> u64 {
    let k = u64::from(width.bits());
    let start = index * 64;
    let mut i = start / k;
    let mut word = 0;
    // an element that begins before the word gives its upper bits
    let skipped = start % k;
    let mut at = 0;
    if skipped > 0 && i < count {
        word = width.reduce(element(i)) >> skipped;
        at = k - skipped;
        i += 1;
    }
    while at < 64 && i < count {
        word |= width.reduce(element(i)) << at;
        at += k;
        i += 1;
    }
    word
}

/// Element `index` of the stream whose words are `word(i)`.
#[inline]
pub fn unpacked_element(index: u64, width: Ring, word: impl Fn(u64) -> u64) -> u64 {
    let k = u64::from(width.bits());
    let start = index * k;
    let (first, offset) = (start / 64, start % 64);
    let mut bits = word(first) >> offset;
    if offset + k > 64 {
        bits |= word(first + 1) << (64 - offset); // offset >= 1 here, since k <= 64
    }
    width.reduce(bits)
}
