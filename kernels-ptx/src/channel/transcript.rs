//! Transcripts: one thread absorbs words, draws challenges and query positions.
//!
//! Each block of the hash needs the digest of the blocks before it, so a launch takes the time of
//! its compressions, about a microsecond each. Meanwhile the next block arrives from memory.
//!
//! # Safety
//! `channel` is one transcript, `absorbed` are `count` elements, `challenges` are `draws`. Grid:
//! one block.

use core_types::{
    blake2s::Digest,
    field::QM31,
    params::channel::{ChannelQueriesParams, ChannelState},
};

use crate::dev::{idx::tid_x, sync::block_sync, unroll::unroll};

/// Threads that draw positions.
const THREADS: u32 = 32;

/// Writes kernels that absorb elements of `$words` words, then draw challenges.
macro_rules! mixes {
    ($($name:ident: $element:ty, $words:literal;)*) => {$(
        #[doc = concat!("Absorbs elements of `", stringify!($element), "`, then draws challenges.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            absorbed: *const $element,
            channel: *mut ChannelState,
            challenges: *mut QM31,
            count: u64,
            draws: u64,
        ) {
            mix(absorbed.cast(), $words * count, channel, challenges, draws);
        }
    )*};
}

mixes! {
    channel_mix_digests: Digest, 8;
    channel_mix_felts: QM31, 4;
    channel_mix_words: u32, 1;
}

/// Draws challenges.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn channel_draw(channel: *mut ChannelState, challenges: *mut QM31, draws: u64) {
    let mut state = *channel;
    draw(&mut state, challenges, draws);
    *channel = state;
}

/// Draws positions, eight with each thread: draws of words do not depend on each other.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn channel_queries(
    channel: *mut ChannelState,
    positions: *mut u32,
    params: ChannelQueriesParams,
) {
    let ChannelQueriesParams { log_size, queries } = params;
    let (state, draws) = (*channel, queries.div_ceil(8));
    let mut first = 0;
    while first < draws {
        let draw = first + tid_x();
        let words = state.words_after(draw);
        unroll!(I in 0..8 => {
            let query = 8 * u64::from(draw) + u64::from(I);
            if query < u64::from(queries) {
                *positions.add(query as usize) = words[I as usize] & ((1 << log_size) - 1);
            }
        });
        first += THREADS;
    }
    block_sync(); // all have read how many draws there were
    if tid_x() == 0 {
        (*channel).draws = state.draws.wrapping_add(draws);
    }
}

#[inline(always)]
unsafe fn mix(words: *const u32, count: u64, channel: *mut ChannelState, challenges: *mut QM31, draws: u64) {
    let mut state = *channel;
    state.absorb(count, |i| *words.add(i as usize));
    draw(&mut state, challenges, draws);
    *channel = state;
}

#[inline(always)]
unsafe fn draw(state: &mut ChannelState, challenges: *mut QM31, draws: u64) {
    let mut i = 0;
    while i < draws {
        let [first, second] = state.draw_pair();
        *challenges.add(i as usize) = first;
        if i + 1 < draws {
            *challenges.add(i as usize + 1) = second;
        }
        i += 2;
    }
}

kernel_table! {
    channel_mix_digests, channel_mix_felts, channel_mix_words, channel_draw:
        block [1, 1, 1], min_blocks 1, shared None, barriers 0;
    channel_queries: block [THREADS, 1, 1], min_blocks 1, shared None, barriers 1;
}
