//! Elements of the secure field said.

use core_types::{field::QM31, params::channel::ChannelState};

use crate::{
    BackendError, BufferMut, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Absorbs elements of the secure field, four words each.
    pub struct ChannelMixFelts<'a, Q> as "channel_mix_felts" {
        /// The elements to absorb.
        said: read QM31,
        /// The transcript: one element.
        channel: write ChannelState,
        /// Challenges drawn afterwards, any number; the same as one draw of `drawn.len()` challenges.
        drawn: write QM31,
    }
}

impl<Q: Queue> ChannelMixFelts<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ChannelOps`](super::ChannelOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.said.len(), 1, self.drawn.len()])
    }
}
