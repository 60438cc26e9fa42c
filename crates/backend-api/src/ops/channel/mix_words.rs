//! Absorption of words.

use core_types::{field::QM31, params::channel::ChannelState};

use crate::{
    BackendError, BufferMut, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Absorbs words; a 64-bit number is its lower word, then its upper word.
    pub struct ChannelMixWords<'a, Q> as "channel_mix_words" {
        /// The words to absorb.
        absorbed: read u32,
        /// The transcript: one element.
        channel: write ChannelState,
        /// Challenges drawn afterwards, any number.
        ///
        /// The same as one draw of `challenges.len()` challenges.
        challenges: write QM31,
    }
}

impl<Q: Queue> ChannelMixWords<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ChannelOps`](super::ChannelOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.absorbed.len(), 1, self.challenges.len()])
    }
}
