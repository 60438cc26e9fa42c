//! Absorption of elements of the secure field.

use core_types::{field::QM31, params::channel::ChannelState};

use crate::ops::op;

op! {
    /// Absorbs elements of the secure field, four words each.
    pub struct ChannelMixFelts<'a, Q> as "channel_mix_felts" {
        /// The elements to absorb.
        absorbed: read QM31,
        /// The transcript.
        channel: write ChannelState [1],
        /// Challenges drawn afterwards, any number.
        ///
        /// The same as one draw of `challenges.len()` challenges.
        challenges: write QM31,
    }
}
