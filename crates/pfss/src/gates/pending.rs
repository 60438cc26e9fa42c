use core::fmt;

use core_types::Ring;
use zeroize::Zeroizing;

use crate::{KeyBundle, Party, PfssError, convert, gates::BitShares};

/// A gate between its two steps: the masked bits to exchange, and what is left to do once they are open.
///
/// Used once: [`finish`](Self::finish) takes it by value.
pub struct Pending {
    party: Party,
    count: usize,
    masked: Vec<u32>,
    rest: Rest,
}

/// What the second step does with the opened bit `w` of each element.
pub(super) enum Rest {
    /// Row after row of bits, to additive shares of the bits: `[c]` per row.
    Bits { ring: Ring, c: Zeroizing<Vec<u64>> },
    /// `bit * x` with `x = x_hat - r`.
    Product { ring: Ring, x_hat: Vec<u64>, r: Zeroizing<Vec<u64>>, c: Zeroizing<Vec<u64>>, c_r: Zeroizing<Vec<u64>> },
    /// `base - bit`.
    Subtract { ring: Ring, base: Zeroizing<Vec<u64>>, c: Zeroizing<Vec<u64>> },
}

impl Pending {
    /// Masks `bits` with the dealer's bits, rows from `first_mask` on.
    pub(super) fn new(bundle: &KeyBundle, bits: &BitShares, first_mask: usize, rest: Rest) -> Self {
        let per_row = bits.count().div_ceil(32);
        let mut masked = Vec::with_capacity(bits.words().len());
        for (row, words) in bits.words().chunks(per_row.max(1)).enumerate() {
            for (word, (&bit, &mask)) in words.iter().zip(bundle.bit_row(first_mask + row)).enumerate() {
                let live = u32::MAX >> (32 - (bits.count() - 32 * word).min(32)); // at least one element per word
                masked.push(bit ^ (mask & live));
            }
        }
        Self { party: bits.party(), count: bits.count(), masked, rest }
    }

    /// This party's share of the masked bits. Public: they are to be sent to the peer. Rows of
    /// `count.div_ceil(32)` words, bits behind the last element zero.
    #[must_use]
    pub fn masked_bits(&self) -> &[u32] {
        &self.masked
    }

    /// Elements per row.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Additive shares of the gate's output, given the peer's [`masked_bits`](Self::masked_bits).
    ///
    /// # Errors
    /// [`PfssError::Length`] if the peer's bits are not as many as these.
    pub fn finish(self, peer: &[u32]) -> Result<Vec<u64>, PfssError> {
        let (expected, got) = (self.masked.len(), peer.len());
        if expected != got {
            return Err(PfssError::Length { what: "words of masked bits", expected, got });
        }
        let words: Vec<u32> = self.masked.iter().zip(peer).map(|(mine, theirs)| mine ^ theirs).collect();
        let (party, count, per_row) = (self.party, self.count, self.count.div_ceil(32));
        let open = |row: usize, e: usize| u64::from((words[row * per_row + e / 32] >> (e % 32)) & 1);
        Ok(match &self.rest {
            Rest::Bits { ring, c } => {
                let element = |(at, &c): (usize, &u64)| convert::bit(*ring, party, open(at / count, at % count), c);
                c.iter().enumerate().map(element).collect()
            }
            Rest::Product { ring, x_hat, r, c, c_r } => (0..count)
                .map(|e| convert::bit_times_masked(*ring, party, open(0, e), x_hat[e], r[e], c[e], c_r[e]))
                .collect(),
            Rest::Subtract { ring, base, c } => {
                (0..count).map(|e| ring.sub(base[e], convert::bit(*ring, party, open(0, e), c[e]))).collect()
            }
        })
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("party", &self.party).field("count", &self.count).finish_non_exhaustive()
    }
}
