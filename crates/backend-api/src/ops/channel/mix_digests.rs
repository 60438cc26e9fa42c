//! Absorption of digests, such as roots.

use core_types::{blake2s::Digest, field::QM31, params::channel::ChannelState};

use crate::ops::op;

op! {
    /// Absorbs digests, such as the root of a tree; absorbing none changes the transcript, too.
    pub struct ChannelMixDigests<'a, Q> as "channel_mix_digests" {
        /// The digests to absorb.
        absorbed: read Digest,
        /// The transcript.
        channel: write ChannelState [1],
        /// Challenges drawn afterwards, any number.
        ///
        /// The same as one draw of `challenges.len()` challenges.
        challenges: write QM31,
    }
}
