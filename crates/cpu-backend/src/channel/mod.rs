//! The channel op set on the processor.

mod grind;
mod transcript;

use backend_api::{
    BackendError,
    ops::channel::{ChannelDraw, ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelQueries},
};

use crate::CpuQueue;
use crate::checked::ChannelOps;

impl ChannelOps for CpuQueue {
    fn channel_mix_digests(&self, op: ChannelMixDigests<'_, Self>) -> Result<(), BackendError> {
        transcript::mix(bytemuck::must_cast_slice(op.absorbed), &mut op.channel[0], op.challenges);
        Ok(())
    }

    fn channel_mix_felts(&self, op: ChannelMixFelts<'_, Self>) -> Result<(), BackendError> {
        transcript::mix(bytemuck::must_cast_slice(op.absorbed), &mut op.channel[0], op.challenges);
        Ok(())
    }

    fn channel_mix_words(&self, op: ChannelMixWords<'_, Self>) -> Result<(), BackendError> {
        transcript::mix(op.absorbed, &mut op.channel[0], op.challenges);
        Ok(())
    }

    fn channel_draw(&self, op: ChannelDraw<'_, Self>) -> Result<(), BackendError> {
        transcript::draw(&mut op.channel[0], op.challenges);
        Ok(())
    }

    fn channel_queries(&self, op: ChannelQueries<'_, Self>) -> Result<(), BackendError> {
        transcript::positions(op.params.log_size, &mut op.channel[0], op.positions);
        Ok(())
    }

    fn channel_grind(&self, op: ChannelGrind<'_, Self>) -> Result<(), BackendError> {
        op.nonce.copy_from_slice(&self.first_nonce(op.channel[0], op.params.bits));
        Ok(())
    }
}
