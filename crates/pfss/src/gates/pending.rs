use core::{fmt, ops::Range};

use core_types::Ring;

use crate::{KeyBundle, Party, PfssError, gates::BitShares};

/// A gate between its two steps: the masked bits to exchange, and what is left to do once they are open.
///
/// Used once: [`finish`](Self::finish) takes it by value. `T` is what comes out: most gates give one additive share per
/// element.
pub struct Pending<T = Vec<u64>> {
    party: Party,
    count: usize,
    masked: Vec<u32>,
    /// Additive shares of masked words, one per element or none, and their ring.
    words: (Ring, Vec<u64>),
    rest: Box<dyn Rest<T>>,
}

/// The second step of a gate, with the shares that it needs.
pub(super) trait Rest<T>: Send + Sync {
    /// Turns opened bits into shares.
    fn finish(self: Box<Self>, opened: &Opened) -> T;
}

/// What both parties know after an exchange.
pub(super) struct Opened {
    pub(super) party: Party,
    /// Elements per row.
    pub(super) count: usize,
    bits: Vec<u32>,
    words: Vec<u64>,
}

impl Opened {
    /// Bit `row` of element `e`, 0 or 1.
    pub(super) fn bit(&self, row: usize, e: usize) -> u64 {
        u64::from((self.bits[row * self.count.div_ceil(32) + e / 32] >> (e % 32)) & 1)
    }

    /// Row `row`, 32 elements a word.
    pub(super) fn row(&self, row: usize) -> &[u32] {
        let words = self.count.div_ceil(32);
        &self.bits[row * words..][..words]
    }

    /// The word of element `e`.
    pub(super) fn word(&self, e: usize) -> u64 {
        self.words[e]
    }

    /// What is known of the elements `range`, which starts at a multiple of 32.
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

    /// `element(e)` for every element.
    pub(super) fn map(&self, element: impl Fn(usize) -> u64) -> Vec<u64> {
        (0..self.count).map(element).collect()
    }
}

/// The ring of no words.
const NO_WORDS: Ring = match Ring::new(1) {
    Some(ring) => ring,
    None => unreachable!(),
};

impl<T> Pending<T> {
    /// Masks `bits` with the dealer's bits, rows from `first_mask` on.
    pub(super) fn new(bundle: &KeyBundle, bits: &BitShares, first_mask: usize, rest: impl Rest<T> + 'static) -> Self {
        let per_row = bits.count().div_ceil(32);
        let mut masked = Vec::with_capacity(bits.words().len());
        for (row, words) in bits.words().chunks(per_row.max(1)).enumerate() {
            for (word, (&bit, &mask)) in words.iter().zip(bundle.bit_row(first_mask + row)).enumerate() {
                let live = u32::MAX >> (32 - (bits.count() - 32 * word).min(32)); // at least one element per word
                masked.push(bit ^ (mask & live));
            }
        }
        Self::masked(bits.party(), bits.count(), masked, rest)
    }

    /// Opens rows that are masked already.
    pub(super) fn masked(party: Party, count: usize, masked: Vec<u32>, rest: impl Rest<T> + 'static) -> Self {
        Self { party, count, masked, words: (NO_WORDS, Vec::new()), rest: Box::new(rest) }
    }

    /// Opens a word of each element as well.
    pub(super) fn with_words(self, ring: Ring, words: Vec<u64>) -> Self {
        Self { words: (ring, words), ..self }
    }

    /// This party's share of the masked bits. Public: they are to be sent to the peer. Rows of
    /// `count.div_ceil(32)` words, bits behind the last element zero.
    #[must_use]
    pub fn masked_bits(&self) -> &[u32] {
        &self.masked
    }

    /// This party's additive shares of masked words, one per element, for gates that open such. Public, like
    /// [`masked_bits`](Self::masked_bits), and to be sent with them.
    #[must_use]
    pub fn masked_words(&self) -> &[u64] {
        &self.words.1
    }

    /// The ring of [`masked_words`](Self::masked_words).
    #[must_use]
    pub fn word_ring(&self) -> Ring {
        self.words.0
    }

    /// Elements per row.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The party whose gate this is.
    pub(super) fn party(&self) -> Party {
        self.party
    }

    /// The gate's output from what was opened.
    pub(super) fn finish_opened(self, opened: &Opened) -> T {
        self.rest.finish(opened)
    }

    /// The gate's output, given the peer's [`masked_bits`](Self::masked_bits), for gates that open no words.
    ///
    /// # Errors
    /// [`PfssError::Length`] if the peer's bits are not as many as these, or if words have to be opened as well.
    pub fn finish(self, peer: &[u32]) -> Result<T, PfssError> {
        self.finish_with(peer, &[])
    }

    /// The gate's output, given the peer's [`masked_bits`](Self::masked_bits) and [`masked_words`](Self::masked_words).
    ///
    /// # Errors
    /// [`PfssError::Length`] if the peer's bits or words are not as many as these.
    pub fn finish_with(self, bits: &[u32], words: &[u64]) -> Result<T, PfssError> {
        let (ring, mine) = &self.words;
        for (what, expected, got) in
            [("words of masked bits", self.masked.len(), bits.len()), ("masked words", mine.len(), words.len())]
        {
            if expected != got {
                return Err(PfssError::Length { what, expected, got });
            }
        }
        let opened = Opened {
            party: self.party,
            count: self.count,
            bits: self.masked.iter().zip(bits).map(|(mine, theirs)| mine ^ theirs).collect(),
            words: mine.iter().zip(words).map(|(&mine, &theirs)| ring.add(mine, theirs)).collect(),
        };
        Ok(self.rest.finish(&opened))
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("party", &self.party).field("count", &self.count).finish_non_exhaustive()
    }
}
