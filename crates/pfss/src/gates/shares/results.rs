//! Shares of the results of a gate.

use core::fmt;

use super::bits::BitShares;

/// A party's shares of the results of a [`Task`](crate::Task).
pub struct Shares {
    /// Additive shares of words: `[elements][words]` of a descriptor, else `[words][elements]`.
    ///
    /// Most gates have one word. For a gate with [masked
    /// outputs](crate::Gate::with_masked_outputs), they are shares of each word plus its mask.
    pub words: Vec<u64>,
    /// Shares of bits; without any, [`BoolShares::Additive`] of nothing.
    pub bools: BoolShares,
}

/// Shares of output bits.
///
/// A descriptor's program chooses their form.
pub enum BoolShares {
    /// XOR shares, one row for each bit.
    Xor(BitShares),
    /// Additive shares of 0 or 1, `[elements][bits]`.
    Additive(Vec<u64>),
}

/// Words alone.
impl From<Vec<u64>> for Shares {
    fn from(words: Vec<u64>) -> Self {
        Self { words, bools: BoolShares::Additive(Vec::new()) }
    }
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares").field("words", &self.words.len()).field("bools", &self.bools).finish()
    }
}

impl fmt::Debug for BoolShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xor(bits) => f.debug_tuple("Xor").field(bits).finish(),
            Self::Additive(words) => write!(f, "Additive({})", words.len()),
        }
    }
}
