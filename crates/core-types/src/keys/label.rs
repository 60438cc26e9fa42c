//! Labels of the nodes of key trees, and the bits of them that are seed.

use core::fmt;

use bytemuck::{Pod, Zeroable};
use zeroize::DefaultIsZeroes;

/// The 128-bit label of a tree node.
///
/// It is a little-endian integer, with its two lowest bits zero in a seed.
///
/// Labels are secrets of one party, so `Debug` shows nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Label(u128);

/// The bits used by a seed.
///
/// The two others carry the direction and the conversion flag into the hash.
pub(crate) const SEED_BITS: u128 = !3;

impl Label {
    /// The label with these bits.
    #[inline]
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// All 128 bits.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// The label with its two lowest bits cleared.
    #[inline]
    #[must_use]
    pub const fn seed(self) -> Self {
        Self(self.0 & SEED_BITS)
    }
}

impl DefaultIsZeroes for Label {}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Label(..)")
    }
}
