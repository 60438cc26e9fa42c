//! The channel op set.

use backend_api::{
    BackendError,
    ops::channel::{
        ChannelDraw, ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelOps, ChannelQueries,
    },
};

use crate::CpuQueue;

impl ChannelOps for CpuQueue {
    fn channel_mix_digests(&self, op: ChannelMixDigests<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "channel_mix_digests", why: "stub" })
    }

    fn channel_mix_felts(&self, op: ChannelMixFelts<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "channel_mix_felts", why: "stub" })
    }

    fn channel_mix_words(&self, op: ChannelMixWords<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "channel_mix_words", why: "stub" })
    }

    fn channel_draw(&self, op: ChannelDraw<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "channel_draw", why: "stub" })
    }

    fn channel_queries(&self, op: ChannelQueries<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "channel_queries", why: "stub" })
    }

    fn channel_grind(&self, op: ChannelGrind<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "channel_grind", why: "stub" })
    }
}
