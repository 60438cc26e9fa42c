//! Proof of work.

use core_types::params::channel::{ChannelGrindParams, ChannelState};

use crate::ops::op;

op! {
    /// Finds the first proof-of-work nonce in the order of stwo's SIMD prover.
    ///
    /// The lower word runs through `2^20` numbers, then the upper word grows by one.
    ///
    /// A nonce shows `bits` bits of work if the digest of a prefix and the nonce ends in that many
    /// zero bits, as a number with its lowest word first. The prefix is the digest of the word
    /// `0x12345678`, twelve zero bytes, the transcript's digest and the word `bits`.
    pub struct ChannelGrind<'a, Q> as "channel_grind" {
        /// How much work.
        params: plain &'a ChannelGrindParams,
        /// The transcript. It absorbs nothing.
        channel: read ChannelState [1],
        /// Lower and upper word of the nonce.
        nonce: write u32 [2],
    }
    valid(self) {
        self.params.bits <= 40, "expected at most 40 bits of work";
    }
}
