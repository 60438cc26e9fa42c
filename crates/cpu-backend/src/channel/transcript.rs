//! Absorbing words and drawing challenges, in order on the calling thread.
//!
//! Absorbing sets `digest = Blake2s(digest || words)` and `draws = 0`; a draw is eight words of
//! `Blake2s(digest || draws || one zero byte)`, and `draws += 1` (stwo 2.3,
//! `core/channel/blake2s.rs`). Each step needs the digest before it.

use core_types::{field::QM31, params::channel::ChannelState};

/// Absorbs `words`, then draws.
pub(super) fn mix(words: &[u32], channel: &mut ChannelState, challenges: &mut [QM31]) {
    channel.absorb(words.len() as u64, |i| words[i as usize]);
    draw(channel, challenges);
}

/// Draws challenges, two at a time.
pub(super) fn draw(channel: &mut ChannelState, challenges: &mut [QM31]) {
    for pair in challenges.chunks_mut(2) {
        pair.copy_from_slice(&channel.draw_pair()[..pair.len()]);
    }
}

/// Draws positions of `2^log_size`, eight at a time.
pub(super) fn positions(log_size: u32, channel: &mut ChannelState, positions: &mut [u32]) {
    for eight in positions.chunks_mut(8) {
        eight.copy_from_slice(&channel.words_after(0)[..eight.len()]);
        eight.iter_mut().for_each(|word| *word &= (1 << log_size) - 1);
        channel.draws = channel.draws.wrapping_add(1);
    }
}
