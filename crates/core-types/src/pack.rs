//! Ring elements of k bits as a dense little-endian bit stream.
//!
//! Element i occupies the bits i·k .. (i+1)·k.

use crate::ring::Ring;

/// Number of 64-bit words filled by `count` elements of `width`.
///
/// `None` if the number of bits does not fit `u64`.
#[inline]
#[must_use]
pub const fn packed_words(count: u64, width: Ring) -> Option<u64> {
    match count.checked_mul(width.bits() as u64) {
        Some(bits) => Some(bits.div_ceil(64)),
        None => None,
    }
}

/// Word `index` of the stream of `count` elements, gathered from `element(i)`.
///
/// Bits past the last element are zero. The stream has no more words than elements, so 32 bits hold
/// an index.
#[inline]
pub fn packed_word(index: u32, count: u32, width: Ring, element: impl Fn(u32) -> u64) -> u64 {
    let k = width.bits();
    // k words hold 64 elements; of those, the word begins in the one that the rounded reciprocal of k names, exactly
    // since start * k < 2^20
    let start = index % k * 64;
    let within = (start * ((1 << 20) / k + 1)) >> 20;
    let mut i = (index / k).wrapping_mul(64).wrapping_add(within);
    let mut word = 0;
    // an element that begins before the word gives its upper bits
    let skipped = start - within * k;
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

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_bit_of_the_stream_is_that_of_its_element() {
        for bits in 1..=64 {
            let width = Ring::new(bits).unwrap();
            for count in [0, 1, 2, 63, 64, 65, 200] {
                let element = |i: u32| u64::from(i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let words = packed_words(u64::from(count), width).unwrap();
                let stream: Vec<u64> =
                    (0..words).map(|index| packed_word(index as u32, count, width, element)).collect();
                for at in 0..words * 64 {
                    let (i, bit) = (at / u64::from(bits), at % u64::from(bits));
                    let expected = if i < u64::from(count) { element(i as u32) >> bit & 1 } else { 0 };
                    assert_eq!(stream[at as usize / 64] >> (at % 64) & 1, expected, "bit {at}, {count} of {bits} bits");
                }
                for index in 0..count {
                    let found = unpacked_element(u64::from(index), width, |word| stream[word as usize]);
                    assert_eq!(found, width.reduce(element(index)));
                }
            }
        }
    }
}
