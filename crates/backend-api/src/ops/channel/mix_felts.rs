//! Elements of the secure field said.

use core_types::{field::QM31, params::channel::ChannelState};

use crate::{
    BackendError, BufferMut, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Says elements of the secure field, four words each.
    pub struct ChannelMixFelts<'a, Q> as "channel_mix_felts" {
        /// What is said.
        said: read QM31,
        /// The transcript: one element.
        channel: write ChannelState,
        /// Challenges that are drawn afterwards, any number: they are those of one draw of so many.
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
