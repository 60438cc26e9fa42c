//! The transcript of a proof on the device (stwo 2.3, `core/channel/blake2s.rs`).

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Mut, Queue, Ref,
    ops::channel::{
        ChannelDraw, ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelOps, ChannelQueries,
    },
};
use core_types::{
    blake2s::Digest,
    field::QM31,
    params::channel::{ChannelGrindParams, ChannelQueriesParams, ChannelState},
};

/// The state that absorbs data and yields challenges.
pub(crate) struct Transcript<Q: Queue> {
    state: Q::Buf<ChannelState>,
    /// An empty buffer, for ops that draw no challenges.
    none: Q::Buf<QM31>,
}

impl<Q: Queue> Transcript<Q> {
    pub(crate) fn new(q: &Q) -> Result<Self, BackendError> {
        Ok(Self { state: q.alloc(1)?, none: q.alloc(0)? })
    }

    /// The state after everything absorbed so far.
    pub(crate) fn state(&self) -> Ref<'_, Q, ChannelState> {
        self.state.view()
    }

    /// Resets the state to one that has absorbed nothing.
    pub(crate) fn reset(&mut self, q: &Q) -> Result<(), BackendError> {
        q.clear(self.state.view_mut())
    }
}

impl<Q: ChannelOps> Transcript<Q> {
    /// Absorbs words.
    pub(crate) fn absorb_words<'a>(&'a mut self, q: &Q, absorbed: Ref<'a, Q, u32>) -> Result<(), BackendError> {
        let (channel, challenges) = (self.state.view_mut(), self.none.view_mut());
        q.channel_mix_words(ChannelMixWords { absorbed, channel, challenges })
    }

    /// Absorbs elements of the secure field, and draws challenges in the same op.
    pub(crate) fn absorb_elements<'a>(
        &'a mut self,
        q: &Q,
        absorbed: Ref<'a, Q, QM31>,
        challenges: Option<Mut<'a, Q, QM31>>,
    ) -> Result<(), BackendError> {
        let (channel, challenges) = (self.state.view_mut(), challenges.unwrap_or_else(|| self.none.view_mut()));
        q.channel_mix_felts(ChannelMixFelts { absorbed, channel, challenges })
    }

    /// Absorbs the root of a tree, and draws challenges in the same op.
    pub(crate) fn absorb_root<'a>(
        &'a mut self,
        q: &Q,
        absorbed: Ref<'a, Q, Digest>,
        challenges: Option<Mut<'a, Q, QM31>>,
    ) -> Result<(), BackendError> {
        let (channel, challenges) = (self.state.view_mut(), challenges.unwrap_or_else(|| self.none.view_mut()));
        q.channel_mix_digests(ChannelMixDigests { absorbed, channel, challenges })
    }

    /// Draws challenges.
    pub(crate) fn draw<'a>(&'a mut self, q: &Q, challenges: Mut<'a, Q, QM31>) -> Result<(), BackendError> {
        q.channel_draw(ChannelDraw { channel: self.state.view_mut(), challenges })
    }

    /// Finds a nonce that shows `bits` bits of work; absorbs nothing.
    pub(crate) fn grind<'a>(&'a self, q: &Q, bits: u32, nonce: Mut<'a, Q, u32>) -> Result<(), BackendError> {
        let (params, nonce) = (&ChannelGrindParams { bits }, q.shorten_mut(nonce));
        q.channel_grind(ChannelGrind { params, channel: self.state.view(), nonce })
    }

    /// Draws positions below `2^log_size`.
    pub(crate) fn draw_positions<'a>(
        &'a mut self,
        q: &Q,
        log_size: u32,
        positions: Mut<'a, Q, u32>,
    ) -> Result<(), BackendError> {
        let queries = positions.len() as u32; // a valid number of queries fits a word
        let (params, positions) = (&ChannelQueriesParams { log_size, queries }, q.shorten_mut(positions));
        q.channel_queries(ChannelQueries { params, channel: self.state.view_mut(), positions })
    }
}
