//! The dealer's secrets, and the arithmetic on rows of masks that derives them.
//!
//! Nothing here branches on a mask.

use core_types::Ring;
use zeroize::Zeroizing;

/// A secret word of each element.
pub(crate) type Row = Zeroizing<Vec<u64>>;

/// What one tree hides.
pub(crate) struct TreeSecret {
    /// The thresholds, one per element; the op reduces them to the domain of the tree.
    pub(crate) alphas: Row,
    /// The payloads, `[words][elements]`; none for comparison keys.
    pub(crate) betas: Row,
}

/// The secrets hidden in keys and shares, in the order of the bundle's rows.
pub(crate) struct Secrets {
    /// Thresholds and payloads of the key trees.
    pub(crate) trees: Vec<TreeSecret>,
    /// Ring elements to share additively; the input mask `r` first.
    pub(crate) words: Vec<Row>,
    /// Bits, one per word, to share by XOR.
    pub(crate) bits: Vec<Row>,
}

/// `(-r)^j` for `0 <= j < words`, `[words][elements]`.
pub(crate) fn powers(ring: Ring, r: &[u64], words: u32) -> Row {
    // the full capacity at once, since growing would leave copies behind
    let mut powers = Row::new(Vec::with_capacity(words as usize * r.len()));
    for j in 0..words {
        powers.extend(r.iter().map(|&r| power_of_negative(ring, r, j)));
    }
    powers
}

/// `(-r)^j`; `j` is public.
pub(crate) fn power_of_negative(ring: Ring, r: u64, j: u32) -> u64 {
    (0..j).fold(1, |power, _| ring.mul(power, ring.neg(r)))
}

pub(crate) fn map(r: &[u64], f: impl Fn(u64) -> u64) -> Row {
    Row::new(r.iter().map(|&r| f(r)).collect())
}

pub(crate) fn map2(r: &[u64], c: &[u64], f: impl Fn(u64, u64) -> u64) -> Row {
    Row::new(r.iter().zip(c).map(|(&r, &c)| f(r, c)).collect())
}
