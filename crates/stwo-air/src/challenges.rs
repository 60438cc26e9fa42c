//! The channel that look-up elements are drawn from while an AIR is recorded.

use alloc::vec::Vec;

use stwo::core::{
    channel::{Blake2sChannel, Channel},
    fields::qm31::SecureField,
};

/// A channel of stwo that look-up elements are drawn from while an AIR is recorded.
///
/// It replaces the channel of a proof. The drawn values look random, and are kept, so that the
/// recording can distinguish a challenge from a constant. Absorbed data has no effect.
#[derive(Clone, Debug, Default)]
pub struct Challenges {
    channel: Blake2sChannel,
    drawn: Vec<SecureField>,
    words: bool,
}

impl Challenges {
    /// A channel with separate challenges for each `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let mut challenges = Self::default();
        challenges.channel.mix_u64(seed);
        challenges
    }

    /// What was drawn, in order.
    pub(crate) fn drawn(&self) -> &[SecureField] {
        &self.drawn
    }

    /// Whether words were drawn.
    pub(crate) const fn drew_words(&self) -> bool {
        self.words
    }
}

impl Channel for Challenges {
    const BYTES_PER_HASH: usize = Blake2sChannel::BYTES_PER_HASH;

    fn verify_pow_nonce(&self, n_bits: u32, nonce: u64) -> bool {
        self.channel.verify_pow_nonce(n_bits, nonce)
    }

    fn mix_u32s(&mut self, data: &[u32]) {
        self.channel.mix_u32s(data);
    }

    fn mix_felts(&mut self, felts: &[SecureField]) {
        self.channel.mix_felts(felts);
    }

    fn mix_u64(&mut self, value: u64) {
        self.channel.mix_u64(value);
    }

    fn draw_secure_felt(&mut self) -> SecureField {
        let felt = self.channel.draw_secure_felt();
        self.drawn.push(felt);
        felt
    }

    fn draw_secure_felts(&mut self, n_felts: usize) -> Vec<SecureField> {
        (0..n_felts).map(|_| self.draw_secure_felt()).collect()
    }

    fn draw_u32s(&mut self) -> Vec<u32> {
        self.words = true;
        self.channel.draw_u32s()
    }
}
