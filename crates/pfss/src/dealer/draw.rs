//! Fresh randomness for one deal, a row at a time.

use chacha20::{ChaCha20Rng, rand_core::Rng};
use core_types::Ring;

use super::secrets::Row;

/// The masks of a deal, and the randomness for whatever else its gate hides.
pub(crate) struct Draw<'a> {
    rng: &'a mut ChaCha20Rng,
    masks: &'a [Row],
}

impl<'a> Draw<'a> {
    pub(super) fn new(rng: &'a mut ChaCha20Rng, masks: &'a [Row]) -> Self {
        Self { rng, masks }
    }

    /// The masks `r` of the first secret of each element.
    pub(crate) fn r(&self) -> &'a [u64] {
        self.masks.first().map_or(&[], |r| r)
    }

    /// The masks of the second secret: as given, or fresh from `ring`.
    pub(crate) fn second(&mut self, ring: Ring) -> Row {
        self.masks.get(1).cloned().unwrap_or_else(|| self.fresh_words(ring))
    }

    /// A uniform bit for each element.
    pub(crate) fn fresh_bits(&mut self) -> Row {
        Row::new(self.r().iter().map(|_| u64::from(self.rng.next_u32() & 1)).collect())
    }

    /// A uniform word of `ring` for each element.
    pub(crate) fn fresh_words(&mut self, ring: Ring) -> Row {
        Row::new(self.r().iter().map(|_| ring.reduce(self.rng.next_u64())).collect())
    }
}
