//! Digests said, such as roots.

use core_types::{blake2s::Digest, field::QM31, params::channel::ChannelState};

use crate::{
    BackendError, BufferMut, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Says digests, such as the root of a tree; none at all is something that is said, too.
    pub struct ChannelMixDigests<'a, Q> as "channel_mix_digests" {
        /// What is said.
        said: read Digest,
        /// The transcript: one element.
        channel: write ChannelState,
        /// Challenges that are drawn afterwards, any number: they are those of one draw of so many.
        drawn: write QM31,
    }
}

impl<Q: Queue> ChannelMixDigests<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ChannelOps`](super::ChannelOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.said.len(), 1, self.drawn.len()])
    }
}
