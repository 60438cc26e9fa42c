//! The cost of a gate.

/// The cost of one element of a gate for each party.
///
/// Exact, and a function of public parameters only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bits of keys, without header and padding.
    pub key_bits: u64,
    /// AES blocks of the evaluation, where clustered points share their prefixes.
    ///
    /// For gates whose questions come later, the blocks of one public point.
    pub aes: u64,
    /// Bits sent to open the masked input.
    pub input_bits: u64,
    /// Bits sent in the rounds after it.
    pub masked_bits: u64,
    /// Rounds, including the opening of the masked input.
    pub rounds: u64,
}

impl Cost {
    /// The cost of one gate after another.
    #[must_use]
    pub const fn then(self, next: Self) -> Self {
        Self {
            key_bits: self.key_bits + next.key_bits,
            aes: self.aes + next.aes,
            input_bits: self.input_bits + next.input_bits,
            masked_bits: self.masked_bits + next.masked_bits,
            rounds: self.rounds + next.rounds,
        }
    }
}
