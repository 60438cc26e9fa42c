//! The transcript: absorbs data and draws challenges.
//!
//! `H` is Blake2s-256 of little-endian words (stwo 2.3, `core/channel/blake2s.rs`).
//!
//! - Absorb: `digest = H(digest || data)` and `draws = 0`.
//! - Draw: `H(digest || draws || one zero byte)`, then `draws += 1`.
//! - Work: `H(prefix || nonce)` has `bits` trailing zeros, where `prefix` is
//!   `H(0x12345678 || 12 zero bytes || digest || bits)`.

use alloc::vec::Vec;

use core_types::{
    air::Relation,
    field::{M31, P, QM31},
};

use crate::transcript::digest::{Digest, Hasher};

/// A transcript over Blake2s, identical to stwo's.
///
/// Absorbed data changes everything that is drawn after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    digest: Digest,
    /// Draws since the last word was mixed in.
    draws: u32,
}

impl Channel {
    /// The current digest of the transcript.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Mixes in words.
    pub fn mix_u32s(&mut self, words: &[u32]) {
        self.mix(|hasher| words.iter().for_each(|word| hasher.bytes(&word.to_le_bytes())));
    }

    /// Mixes in a number of 64 bits.
    pub fn mix_u64(&mut self, number: u64) {
        self.mix(|hasher| hasher.bytes(&number.to_le_bytes()));
    }

    /// Mixes in elements of the secure field.
    pub fn mix_felts<'e>(&mut self, elements: impl IntoIterator<Item = &'e QM31>) {
        let mut words = elements.into_iter().flat_map(|element| element.coordinates());
        self.mix(|hasher| words.by_ref().for_each(|word| hasher.element(word)));
    }

    /// Mixes in the root of a tree.
    pub fn mix_root(&mut self, root: Digest) {
        self.mix(|hasher| hasher.bytes(&root.0));
    }

    /// Draws a challenge.
    pub fn draw_felt(&mut self) -> QM31 {
        self.draw_pair()[0]
    }

    /// Draws `count` challenges.
    ///
    /// They differ from challenges that [`draw_felt`](Self::draw_felt) draws one by one.
    pub fn draw_felts(&mut self, count: usize) -> Vec<QM31> {
        let mut felts = Vec::new();
        while felts.len() < count {
            let pair = self.draw_pair();
            felts.extend(pair.into_iter().take(count - felts.len()));
        }
        felts
    }

    /// Draws the challenges of a relation, in the order of its slots.
    ///
    /// The first is `z`, which even a relation between no values has; then come the powers of
    /// `alpha`.
    pub fn draw_relation(&mut self, relation: Relation) -> Vec<QM31> {
        let [z, alpha] = self.draw_pair();
        let powers = core::iter::successors(Some(alpha), |power| Some(*power * alpha));
        core::iter::once(z).chain(powers).take(relation.slots().max(1) as usize).collect()
    }

    /// Draws eight words.
    pub fn draw_u32s(&mut self) -> [u32; 8] {
        // The zero byte keeps a draw from being what mixing in one word would give.
        let draw = Digest::of(&[&self.digest.0, &self.draws.to_le_bytes(), &[0]]);
        self.draws = self.draws.wrapping_add(1);
        draw.words()
    }

    /// Whether `nonce` shows `bits` bits of work on everything absorbed so far.
    #[must_use]
    pub fn has_work(&self, bits: u32, nonce: u64) -> bool {
        let prefix = Digest::of(&[&0x1234_5678u32.to_le_bytes(), &[0; 12], &self.digest.0, &bits.to_le_bytes()]);
        low_zeros(Digest::of(&[&prefix.0, &nonce.to_le_bytes()]).words()) >= bits
    }

    fn mix(&mut self, absorb: impl FnOnce(&mut Hasher)) {
        let mut hasher = Hasher::new();
        hasher.bytes(&self.digest.0);
        absorb(&mut hasher);
        *self = Self { digest: hasher.finish(), draws: 0 };
    }

    /// Draws two challenges from eight words.
    ///
    /// The words are drawn again until all are below `2 P`, so that each element is equally likely.
    fn draw_pair(&mut self) -> [QM31; 2] {
        loop {
            let words = self.draw_u32s();
            if words.iter().all(|&word| word < 2 * P) {
                let [x0, x1, x2, x3, y0, y1, y2, y3] = words.map(M31::from_u32);
                return [[x0, x1, x2, x3], [y0, y1, y2, y3]].map(QM31::from_coordinates);
            }
        }
    }
}

/// Zero bits below the lowest one of the first 128 bits.
fn low_zeros(words: [u32; 8]) -> u32 {
    let [w0, w1, w2, w3, ..] = words.map(u128::from);
    (w0 | w1 << 32 | w2 << 64 | w3 << 96).trailing_zeros()
}

#[cfg(test)]
mod tests {
    use hex_literal::hex;

    use super::*;

    #[test]
    fn draws_are_those_published() {
        let mut channel = Channel::default();
        channel.mix_u32s(&[1, 2, 3]);
        let digest = hex!("0b0c053dd869e359f38b026269bd0434fee51266e39016a4e2e4c3067aeb64a0");
        assert_eq!(channel.digest(), Digest(digest));
        let felt = |words: [u32; 4]| QM31::from_coordinates(words.map(M31::from_u32));
        assert_eq!(channel.draw_felt(), felt([807_610_791, 2_097_869_073, 376_334_573, 1_057_186_329]));
        assert_eq!(channel.draw_felt(), felt([654_349_963, 769_559_648, 727_752_076, 1_296_872_392]));
    }

    #[test]
    fn zero_bits_are_counted_in_the_first_four_words() {
        for place in 0..128 {
            let mut words = [0; 8];
            words[place / 32] = 1 << (place % 32);
            words[4..].fill(u32::MAX);
            assert_eq!(low_zeros(words), place as u32);
            words[3] |= 1 << 31;
            assert_eq!(low_zeros(words), place as u32);
        }
        assert_eq!(low_zeros([0; 8]), 128);
    }
}
