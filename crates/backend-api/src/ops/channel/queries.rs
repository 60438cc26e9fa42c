//! Draws of query positions.

use core_types::params::channel::{ChannelQueriesParams, ChannelState};

use crate::{
    BackendError, Queue,
    ops::{Op, columns::check_log, op},
};

op! {
    /// Draws query positions: the low bits of each drawn word, in order, duplicates included.
    ///
    /// Draws words until enough positions are collected.
    pub struct ChannelQueries<'a, Q> as "channel_queries" {
        /// How many, of how many.
        params: plain &'a ChannelQueriesParams,
        /// The transcript: one element.
        channel: write ChannelState,
        /// The positions.
        positions: write u32,
    }
}

impl<Q: Queue> ChannelQueries<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ChannelOps`](super::ChannelOps).
    pub fn check(&self) -> Result<(), BackendError> {
        check_log(Self::NAME, self.params.log_size)?;
        self.expect([1, self.params.queries as usize])
    }
}
