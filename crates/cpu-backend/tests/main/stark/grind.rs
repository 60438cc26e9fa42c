//! Proof of work at every vector level and thread count.

use backend_api::ops::channel::{ChannelGrind, ChannelOps};
use core_types::{
    channel::{nonce, shows_work},
    params::channel::{ChannelGrindParams, ChannelState},
};

use crate::levels::{levels, queue};

#[test]
fn every_level_and_number_of_threads_finds_the_first_nonce() {
    for bits in 0..=13 {
        let mut channel = ChannelState::default();
        channel.absorb(1, |_| 77 + bits);
        let prefix = channel.work_prefix(bits);
        let first = (0..).find(|&index| shows_work(prefix, nonce(index), bits)).map(nonce);
        for (simd, threads) in levels().flat_map(|simd| [1, 2, 5].map(|threads| (simd, threads))) {
            let (params, mut found) = (ChannelGrindParams { bits }, [u32::MAX; 2]);
            let op = ChannelGrind { params: &params, channel: &[channel][..], nonce: &mut found[..] };
            queue(simd, threads).channel_grind(op).unwrap();
            assert_eq!(Some(found), first, "{bits} bits, {simd:?}, {threads} threads");
        }
    }
}
