//! Absorption of words.

use core_types::{field::QM31, params::channel::ChannelState};

use crate::ops::op;

op! {
    /// Absorbs words; a 64-bit number is its lower word, then its upper word.
    pub struct ChannelMixWords<'a, Q> as "channel_mix_words" {
        /// The words to absorb.
        absorbed: read u32,
        /// The transcript.
        channel: write ChannelState [1],
        /// Challenges drawn afterwards, any number.
        ///
        /// The same as one draw of `challenges.len()` challenges.
        challenges: write QM31,
    }
}
