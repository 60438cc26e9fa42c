//! Benchmarks of the `channel` op set, compared with crate `blake2`.

use std::num::NonZeroUsize;

use backend_api::ops::channel::{ChannelGrind, ChannelMixWords, ChannelOps};
use blake2::{Blake2s256, Digest as _};
use core_types::params::channel::{ChannelGrindParams, ChannelState};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};

use super::{Contender, Contest, Goal, Show};

/// A search from a fresh transcript, and how many nonces it takes.
#[derive(Clone, Copy)]
pub(super) struct SearchSize {
    pub(super) bits: u32,
    pub(super) nonces: u64,
}

pub(super) const FEW_BITS: SearchSize = SearchSize { bits: 8, nonces: 246 };
pub(super) const SOME_BITS: SearchSize = SearchSize { bits: 16, nonces: 55_973 };
pub(super) const MANY_BITS: SearchSize = SearchSize { bits: 24, nonces: 11_818_333 };

/// Words of the long message.
const WORDS: usize = 16_000;

/// Every contest of the op set, by name; each is built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    vec![("channel.mix_words".to_owned(), Box::new(mix_words)), ("channel.grind".to_owned(), Box::new(grind))]
}

/// Our queue, on one thread.
fn queue(simd: SimdLevel) -> CpuQueue {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
    CpuQueue::open(config).expect("one thread needs no pool")
}

fn mix_words() -> Contest {
    let (q, absorbed, mut channel) = (queue(SimdLevel::Avx512), vec![7; WORDS], [ChannelState::default()]);
    let ours = Contender::new("trefoil", move || {
        q.channel_mix_words(ChannelMixWords { absorbed: &absorbed, channel: &mut channel, challenges: &mut [] })
            .expect("lengths match");
    });
    let (bytes, mut digest) = (vec![7u8; 4 * WORDS], [0u8; 32]);
    let peer = Contender::new("crate blake2", move || {
        digest = Blake2s256::new().chain_update(digest).chain_update(&bytes).finalize().into();
    });
    Contest {
        id: "channel.mix_words".to_owned(),
        unit: "byte",
        work: 4.0 * WORDS as f64,
        show: Show::Rate,
        contenders: vec![ours, peer],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.9 }, "")],
    }
}

fn grind() -> Contest {
    let ours = |name: &str, simd| {
        let (q, mut nonce) = (queue(simd), [0; 2]);
        Contender::new(name, move || {
            let params = ChannelGrindParams { bits: SOME_BITS.bits };
            let channel = [ChannelState::default()];
            q.channel_grind(ChannelGrind { params: &params, channel: &channel, nonce: &mut nonce })
                .expect("lengths match");
        })
    };
    let prefix = [7u8; 32];
    let peer = Contender::new("crate blake2, one nonce after the other", move || {
        for nonce in 0..SOME_BITS.nonces {
            let digest: [u8; 32] =
                Blake2s256::new().chain_update(prefix).chain_update(nonce.to_le_bytes()).finalize().into();
            core::hint::black_box(digest);
        }
    });
    Contest {
        id: "channel.grind".to_owned(),
        unit: "nonce",
        work: SOME_BITS.nonces as f64,
        show: Show::Nanoseconds,
        contenders: vec![ours("trefoil", SimdLevel::Avx512), peer, ours("trefoil, portable path", SimdLevel::Portable)],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 8.0 }, "avx-512")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_take_as_many_nonces_as_stated() {
        for SearchSize { bits, nonces } in [FEW_BITS, SOME_BITS, MANY_BITS] {
            let (channel, mut nonce) = ([ChannelState::default()], [0; 2]);
            let params = ChannelGrindParams { bits };
            let q = runtime::cpu().unwrap();
            q.channel_grind(ChannelGrind { params: &params, channel: &channel, nonce: &mut nonce }).unwrap();
            let [lower, upper] = nonce.map(u64::from);
            assert_eq!(upper << 20 | lower, nonces - 1, "{bits} bits");
        }
    }
}
