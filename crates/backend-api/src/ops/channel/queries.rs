//! Draws of query positions.

use core_types::params::channel::{ChannelQueriesParams, ChannelState};

use crate::ops::{columns::check_log, op};

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
