//! XOR shares of rows of bits.

use core::fmt;

use zeroize::Zeroizing;

use crate::{Party, PfssError, error::check_len};

/// One party's XOR shares of rows of bits, 32 elements a word.
///
/// Element `e` is bit `e % 32` of word `e / 32`. Bits past the last element are zero.
pub struct BitShares {
    party: Party,
    count: usize,
    words: Zeroizing<Vec<u32>>,
}

impl BitShares {
    pub(crate) fn new(party: Party, count: usize, words: Vec<u32>) -> Self {
        Self { party, count, words: Zeroizing::new(words) }
    }

    /// The party that holds these shares.
    #[must_use]
    pub fn party(&self) -> Party {
        self.party
    }

    /// Elements per row.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// All rows, one after the other, each of `count.div_ceil(32)` words.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Joins both parties' shares into the plain bits, one `bool` per element, row after row.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`] if both shares are of one party, [`PfssError::Length`] if their
    /// shapes differ.
    pub fn reveal(&self, other: &Self) -> Result<Vec<bool>, PfssError> {
        if other.party == self.party {
            return Err(PfssError::WrongParty { expected: self.party.peer(), got: other.party });
        }
        check_len("elements", self.count, other.count)?;
        check_len("words of bits", self.words.len(), other.words.len())?;
        let per_row = self.count.div_ceil(32).max(1);
        let rows = self.words.chunks(per_row).zip(other.words.chunks(per_row));
        Ok(rows.flat_map(|(a, b)| (0..self.count).map(|e| ((a[e / 32] ^ b[e / 32]) >> (e % 32)) & 1 == 1)).collect())
    }
}

impl fmt::Debug for BitShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BitShares").field("party", &self.party).field("count", &self.count).finish_non_exhaustive()
    }
}
