//! What an exchange has made public.
//!
//! An opened bit is `w = w_0 ^ w_1`, an opened word `v = v_0 + v_1` in its ring, for the messages
//! of the parties 0 and 1.

use core::ops::Range;

use core_types::Ring;

use crate::Party;

/// What both parties know after an exchange.
pub(in crate::gates) struct OpenedValues {
    pub(in crate::gates) party: Party,
    /// Elements per row.
    pub(super) count: usize,
    bits: Vec<u32>,
    words: Vec<u64>,
}

impl OpenedValues {
    /// Combines the parts of both parties: bits by XOR, words by sums in `ring`.
    pub(super) fn join((party, count): (Party, usize), bits: [&[u32]; 2], (ring, words): (Ring, [&[u64]; 2])) -> Self {
        let ([mine, theirs], [my_words, their_words]) = (bits, words);
        Self {
            party,
            count,
            bits: mine.iter().zip(theirs).map(|(mine, theirs)| mine ^ theirs).collect(),
            words: my_words.iter().zip(their_words).map(|(&mine, &theirs)| ring.add(mine, theirs)).collect(),
        }
    }

    /// All rows of bits, one after the other, each of `count.div_ceil(32)` words.
    pub(super) fn bits(&self) -> &[u32] {
        &self.bits
    }

    /// Row `row`, 32 elements a word.
    pub(in crate::gates) fn row(&self, row: usize) -> &[u32] {
        let words = self.count.div_ceil(32);
        &self.bits[row * words..][..words]
    }

    /// The words, one per element, if words were opened.
    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The opened values of the elements `range`, which starts at a multiple of 32.
    pub(super) fn part(&self, range: Range<usize>) -> Self {
        let words = range.start / 32..range.end.div_ceil(32);
        let rows = self.bits.chunks(self.count.div_ceil(32).max(1));
        Self {
            party: self.party,
            count: range.len(),
            bits: rows.flat_map(|row| row[words.clone()].iter().copied()).collect(),
            words: if self.words.is_empty() { Vec::new() } else { self.words[range].to_vec() },
        }
    }
}
