//! Fresh randomness for one deal, a row at a time.

use chacha20::{ChaCha20Rng, rand_core::Rng};
use core_types::Ring;
use zeroize::Zeroizing;

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
        let mut bits = Zeroizing::new(vec![0u32; self.r().len()]);
        self.rng.fill_bytes(bytemuck::cast_slice_mut(&mut bits));
        Row::new(bits.iter().map(|&bit| u64::from(u32::from_le(bit) & 1)).collect())
    }

    /// A uniform word of `ring` for each element.
    pub(crate) fn fresh_words(&mut self, ring: Ring) -> Row {
        let len = self.r().len();
        uniform(self.rng, ring, len)
    }
}

/// Uniform words of `ring`.
pub(super) fn uniform(rng: &mut ChaCha20Rng, ring: Ring, len: usize) -> Row {
    let mut words = Row::new(vec![0; len]);
    rng.fill_bytes(bytemuck::cast_slice_mut(&mut words));
    words.iter_mut().for_each(|word| *word = ring.reduce(u64::from_le(*word)));
    words
}
