//! Absorption of digests, such as roots.

use core_types::{blake2s::Digest, field::QM31, params::channel::ChannelState};

use crate::{
    BackendError, BufferMut, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Absorbs digests, such as the root of a tree; absorbing none changes the transcript, too.
    pub struct ChannelMixDigests<'a, Q> as "channel_mix_digests" {
        /// The digests to absorb.
        absorbed: read Digest,
        /// The transcript: one element.
        channel: write ChannelState,
        /// Challenges drawn afterwards, any number.
        ///
        /// The same as one draw of `challenges.len()` challenges.
        challenges: write QM31,
    }
}

impl<Q: Queue> ChannelMixDigests<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ChannelOps`](super::ChannelOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.absorbed.len(), 1, self.challenges.len()])
    }
}
