//! The transcript by its definition: messages as bytes, hashed by crate `blake2`.

use blake2::{Blake2s256, Digest as _};
use core_types::{
    blake2s::Digest,
    field::{M31, P, QM31},
    params::channel::ChannelState,
};

use crate::list::ListIterator as _;

/// A transcript.
#[derive(Clone, Debug, Default)]
pub(super) struct TranscriptModel {
    digest: [u8; 32],
    draws: u32,
}

impl TranscriptModel {
    /// A transcript that was used before: a digest for each seed, and some draws.
    pub(super) fn used(seed: u32) -> Self {
        Self { digest: hash(&[&seed.to_le_bytes()]), draws: seed % 5 }
    }

    /// The transcript as the backends hold it.
    pub(super) fn state(&self) -> ChannelState {
        ChannelState { digest: Digest(words_of(self.digest)), draws: self.draws }
    }

    pub(super) fn mix(&mut self, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).list();
        *self = Self { digest: hash(&[&self.digest, &bytes]), draws: 0 };
    }

    fn draw_words(&mut self) -> [u32; 8] {
        let digest = hash(&[&self.digest, &self.draws.to_le_bytes(), &[0]]);
        self.draws += 1;
        words_of(digest)
    }

    /// `count` challenges of one draw.
    pub(super) fn draw(&mut self, count: usize) -> Vec<QM31> {
        let mut words = Vec::new();
        while words.len() < 4 * count {
            let draw = self.draw_words();
            if draw.iter().all(|&word| u64::from(word) < 2 * u64::from(P)) {
                words.extend(draw.map(|word| M31::from_u64(u64::from(word))));
            }
        }
        let felts = words.chunks_exact(4).map(|felt| QM31::from_coordinates([felt[0], felt[1], felt[2], felt[3]]));
        felts.take(count).list()
    }

    /// `count` positions of `2^log_size`.
    pub(super) fn positions(&mut self, log_size: u32, count: usize) -> Vec<u32> {
        let words: Vec<u32> = (0..count.div_ceil(8)).flat_map(|_| self.draw_words()).list();
        words[..count].iter().map(|word| word % (1 << log_size)).list()
    }

    /// The first nonce that shows `bits` bits of work, lower words first.
    pub(super) fn first_nonce(&self, bits: u32) -> [u32; 2] {
        let prefix = hash(&[&0x1234_5678_u32.to_le_bytes(), &[0; 12], &self.digest, &bits.to_le_bytes()]);
        let zeros = |lower: u32, upper: u32| {
            let hashed = hash(&[&prefix, &lower.to_le_bytes(), &upper.to_le_bytes()]);
            let mut number = [0; 16];
            number.copy_from_slice(&hashed[..16]);
            u128::from_le_bytes(number).trailing_zeros()
        };
        let nonces = (0..).flat_map(|upper| (0..1 << 20).map(move |lower| [lower, upper]));
        let mut shown = nonces.filter(|&[lower, upper]| zeros(lower, upper) >= bits);
        shown.next().unwrap_or_default()
    }
}

/// Words that look random, different for each `salt`.
pub(super) fn random_words(len: usize, salt: u32) -> Vec<u32> {
    (0..len as u32).map(|i| words_of(hash(&[&salt.to_le_bytes(), &i.to_le_bytes()]))[0]).list()
}

pub(crate) fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Blake2s256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

pub(crate) fn words_of(bytes: [u8; 32]) -> [u32; 8] {
    core::array::from_fn(|i| u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[4 * i + k])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_published() {
        // Of stwo 2.3's Blake2s channel, after it absorbed 1, 2 and 3.
        let mut model = TranscriptModel::default();
        model.mix(&[1, 2, 3]);
        let felt = |words: [u32; 4]| QM31::from_coordinates(words.map(M31::from_u32));
        assert_eq!(model.draw(1), [felt([807_610_791, 2_097_869_073, 376_334_573, 1_057_186_329])]);
        assert_eq!(model.draw(1), [felt([654_349_963, 769_559_648, 727_752_076, 1_296_872_392])]);
    }
}
