//! Draws of challenges.

use core_types::{field::QM31, params::channel::ChannelState};

use crate::ops::op;

op! {
    /// Draws challenges from the transcript.
    ///
    /// Each draw of eight words yields two challenges. The second of the last draw may be unused.
    pub struct ChannelDraw<'a, Q> as "channel_draw" {
        /// The transcript.
        channel: write ChannelState [1],
        /// The challenges, any number.
        challenges: write QM31,
    }
}
