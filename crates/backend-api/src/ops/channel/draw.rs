//! Draws of challenges.

use core_types::{field::QM31, params::channel::ChannelState};

use crate::{
    BackendError, BufferMut, Queue,
    ops::{Op, op},
};

op! {
    /// Draws challenges from the transcript.
    ///
    /// Each draw of eight words yields two challenges. The second of the last draw may be unused.
    pub struct ChannelDraw<'a, Q> as "channel_draw" {
        /// The transcript: one element.
        channel: write ChannelState,
        /// The challenges, any number.
        challenges: write QM31,
    }
}

impl<Q: Queue> ChannelDraw<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ChannelOps`](super::ChannelOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([1, self.challenges.len()])
    }
}
