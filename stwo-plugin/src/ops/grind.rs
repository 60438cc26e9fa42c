//! Proof of work.

use backend_api::{
    Buffer as _, Queue,
    ops::channel::{ChannelGrind, ChannelOps as _},
};
use core_types::params::channel::{ChannelGrindParams, ChannelState};
use stwo::core::{
    channel::{Blake2sChannel, Channel as _},
    proof_of_work::GrindOps,
};

use crate::{
    TrefoilBackend,
    device::{done, queue},
    reads::queries,
    value::digest,
};

impl GrindOps<Blake2sChannel> for TrefoilBackend {
    fn grind(channel: &Blake2sChannel, pow_bits: u32) -> u64 {
        let q = queue();
        let state = done(q.upload(&[ChannelState { digest: digest(channel.digest()), draws: 0 }]));
        let mut nonce = done(q.alloc(2));
        done(q.channel_grind(ChannelGrind {
            params: &ChannelGrindParams { bits: pow_bits },
            channel: state.view(),
            nonce: nonce.view_mut(),
        }));
        let words: Vec<u32> = done(q.download(&nonce));
        let nonce = u64::from(words[0]) | u64::from(words[1]) << 32;
        // Positions to open are drawn next.
        let mut after = channel.clone();
        after.mix_u64(nonce);
        queries::foresee(after);
        nonce
    }
}
