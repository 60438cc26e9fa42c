//! Absorption of elements of the secure field.

use core_types::{field::QM31, params::channel::ChannelState};

use crate::{
    BackendError, BufferMut, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Absorbs elements of the secure field, four words each.
    pub struct ChannelMixFelts<'a, Q> as "channel_mix_felts" {
        /// The elements to absorb.
        absorbed: read QM31,
        /// The transcript: one element.
        channel: write ChannelState,
        /// Challenges drawn afterwards, any number.
        ///
        /// The same as one draw of `challenges.len()` challenges.
        challenges: write QM31,
    }
}

impl<Q: Queue> ChannelMixFelts<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ChannelOps`](super::ChannelOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.absorbed.len(), 1, self.challenges.len()])
    }
}
