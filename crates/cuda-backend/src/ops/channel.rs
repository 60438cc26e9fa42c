//! The channel op set.

use backend_api::{
    BackendError, Buffer as _, Queue as _,
    ops::channel::{ChannelDraw, ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelQueries},
};

use crate::checked::ChannelOps;
use crate::{CudaQueue, launch::stark::channel};

impl ChannelOps for CudaQueue {
    fn channel_mix_digests(&self, op: ChannelMixDigests<'_, Self>) -> Result<(), BackendError> {
        channel::mix_digests(self, &op)
    }

    fn channel_mix_felts(&self, op: ChannelMixFelts<'_, Self>) -> Result<(), BackendError> {
        channel::mix_felts(self, &op)
    }

    fn channel_mix_words(&self, op: ChannelMixWords<'_, Self>) -> Result<(), BackendError> {
        channel::mix_words(self, &op)
    }

    fn channel_draw(&self, op: ChannelDraw<'_, Self>) -> Result<(), BackendError> {
        channel::draw(self, &op)
    }

    fn channel_queries(&self, op: ChannelQueries<'_, Self>) -> Result<(), BackendError> {
        channel::queries(self, &op)
    }

    fn channel_grind(&self, op: ChannelGrind<'_, Self>) -> Result<(), BackendError> {
        let mut search = self.zeros(2)?;
        channel::grind(self, &op, &search.view_mut())?;
        channel::nonce(self, search.view(), &op.nonce)
    }
}
