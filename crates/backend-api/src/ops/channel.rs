//! The transcript of a proof, on the device: absorbs messages and draws challenges.
//!
//! It is stwo 2.3's Blake2s channel. Absorbing words replaces the digest by the hash of the old
//! digest and the words, and resets the draw counter. A draw is the hash of the digest, the counter
//! and a zero byte: eight words. A challenge takes four words. The draw is repeated unless all
//! eight words are below `2 P`.

use core_types::{
    blake2s::Digest,
    field::QM31,
    params::channel::{ChannelGrindParams, ChannelQueriesParams, ChannelState},
};

pub use super::sets::ChannelOps;
use crate::ops::{columns::check_log, op};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! channel_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of transcripts.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for parameters out of range.
            /// Nothing is written then.
            channel::ChannelOps: Queue {
                channel_mix_digests(ChannelMixDigests),
                channel_mix_felts(ChannelMixFelts),
                channel_mix_words(ChannelMixWords),
                channel_draw(ChannelDraw),
                channel_queries(ChannelQueries),
                channel_grind(ChannelGrind),
            }
        }
    };
}

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

op! {
    /// Absorbs elements of the secure field, four words each.
    pub struct ChannelMixFelts<'a, Q> as "channel_mix_felts" {
        /// The elements to absorb.
        absorbed: read QM31,
        /// The transcript.
        channel: write ChannelState [1],
        /// Challenges drawn afterwards, any number.
        ///
        /// The same as one draw of `challenges.len()` challenges.
        challenges: write QM31,
    }
}

op! {
    /// Absorbs words; a 64-bit number is its lower word, then its upper word.
    pub struct ChannelMixWords<'a, Q> as "channel_mix_words" {
        /// The words to absorb.
        absorbed: read u32,
        /// The transcript.
        channel: write ChannelState [1],
        /// Challenges drawn afterwards, any number.
        ///
        /// The same as one draw of `challenges.len()` challenges.
        challenges: write QM31,
    }
}

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

op! {
    /// Draws query positions: the low bits of each drawn word, in order, duplicates included.
    ///
    /// Draws words until enough positions are collected.
    pub struct ChannelQueries<'a, Q> as "channel_queries" {
        /// How many, of how many.
        params: plain &'a ChannelQueriesParams,
        /// The transcript.
        channel: write ChannelState [1],
        /// The positions.
        positions: write u32 [queries],
    }
    sizes(self) {
        let ChannelQueriesParams { log_size, queries } = *self.params;
        check_log(OP, log_size)?;
    }
}

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
