//! The channel op set on the processor.
//!
//! Absorbing sets `digest = Blake2s(digest || words)` and `draws = 0`; a draw is eight words of
//! `Blake2s(digest || draws || one zero byte)`, and `draws += 1` (stwo 2.3,
//! `core/channel/blake2s.rs`). Each step needs the digest before it, so all but the proof of work
//! runs on the calling thread.

mod grind;

use backend_api::{
    BackendError,
    ops::channel::{ChannelDraw, ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelQueries},
};
use core_types::{field::QM31, params::channel::ChannelState};

use crate::CpuQueue;
use crate::checked::ChannelOps;

/// Absorbs `words`, then draws.
fn mix(words: &[u32], channel: &mut ChannelState, challenges: &mut [QM31]) {
    channel.absorb(words.len() as u64, |i| words[i as usize]);
    draw(channel, challenges);
}

/// Draws challenges, two at a time.
fn draw(channel: &mut ChannelState, challenges: &mut [QM31]) {
    for pair in challenges.chunks_mut(2) {
        pair.copy_from_slice(&channel.draw_pair()[..pair.len()]);
    }
}

impl ChannelOps for CpuQueue {
    fn channel_mix_digests(&self, op: ChannelMixDigests<'_, Self>) -> Result<(), BackendError> {
        mix(bytemuck::must_cast_slice(op.absorbed), &mut op.channel[0], op.challenges);
        Ok(())
    }

    fn channel_mix_felts(&self, op: ChannelMixFelts<'_, Self>) -> Result<(), BackendError> {
        mix(bytemuck::must_cast_slice(op.absorbed), &mut op.channel[0], op.challenges);
        Ok(())
    }

    fn channel_mix_words(&self, op: ChannelMixWords<'_, Self>) -> Result<(), BackendError> {
        mix(op.absorbed, &mut op.channel[0], op.challenges);
        Ok(())
    }

    fn channel_draw(&self, op: ChannelDraw<'_, Self>) -> Result<(), BackendError> {
        draw(&mut op.channel[0], op.challenges);
        Ok(())
    }

    fn channel_queries(&self, op: ChannelQueries<'_, Self>) -> Result<(), BackendError> {
        let channel = &mut op.channel[0];
        for eight in op.positions.chunks_mut(8) {
            eight.copy_from_slice(&channel.words_after(0)[..eight.len()]);
            eight.iter_mut().for_each(|word| *word &= (1 << op.params.log_size) - 1);
            channel.draws = channel.draws.wrapping_add(1);
        }
        Ok(())
    }

    fn channel_grind(&self, op: ChannelGrind<'_, Self>) -> Result<(), BackendError> {
        op.nonce.copy_from_slice(&self.first_nonce(op.channel[0], op.params.bits));
        Ok(())
    }
}
