//! Speed lines of the `channel` op set: transcripts and proof of work.

use backend_api::{
    Buffer, Queue as _,
    ops::channel::{
        ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelMixWords, ChannelOps as _, ChannelQueries,
    },
};
use blake2::{Blake2s256, Digest as _};
use core_types::{
    blake2s::Digest,
    field::QM31,
    params::channel::{ChannelGrindParams, ChannelQueriesParams, ChannelState},
};

use crate::{Contender, Extent, Goal, Line, line::RunSize};

/// A search from a fresh transcript, and how many nonces it takes.
#[derive(Clone, Copy)]
struct SearchSize {
    bits: u32,
    nonces: u64,
}

const FEW_BITS: SearchSize = SearchSize { bits: 8, nonces: 246 };
const SOME_BITS: SearchSize = SearchSize { bits: 16, nonces: 55_973 };
const MANY_BITS: SearchSize = SearchSize { bits: 24, nonces: 11_818_333 };

/// Words of the long message.
const WORDS: usize = 16_000;

/// Every line of the op set on the processor.
pub(crate) fn contests() -> Vec<Line> {
    let grind = grind(SOME_BITS).called("channel.grind").in_nanoseconds().peer(plain_grind).portable();
    vec![mix_words(), grind.goal(Goal::Ratio { peer: 1, ratio: 8.0 }, "avx-512")]
}

/// Every line of the op set on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let (felts, search) = match extent {
        Extent::Full => (4000, MANY_BITS),
        Extent::Small => (40, FEW_BITS),
    };
    vec![root(), felts_absorbed(felts), queries(70), grind(search)]
}

fn mix_words() -> Line {
    let line = Line::new("channel.mix_words", RunSize::of_bytes(4 * WORDS), |q| {
        let absorbed = q.upload(&vec![7u32; WORDS])?;
        let (mut channel, mut challenges) = (q.zeros::<ChannelState>(1)?, q.zeros::<QM31>(0)?);
        Ok(Box::new(move |q| {
            let (absorbed, channel, challenges) = (absorbed.view(), channel.view_mut(), challenges.view_mut());
            Ok(q.channel_mix_words(ChannelMixWords { absorbed, channel, challenges })?)
        }))
    });
    let peer = || {
        let (bytes, mut digest) = (vec![7u8; 4 * WORDS], [0u8; 32]);
        Contender::new("crate blake2", move || {
            digest = Blake2s256::new().chain_update(digest).chain_update(&bytes).finalize().into();
        })
    };
    line.peer(peer).goal(Goal::Ratio { peer: 1, ratio: 0.9 }, "")
}

/// The size of a line that is dominated by sequential compressions.
fn hashing(compressions: usize) -> RunSize {
    RunSize::computing("compression", compressions as f64, 0.0)
}

/// Absorbs a root and draws a challenge, as between layers of FRI.
fn root() -> Line {
    Line::new("channel.mix_digests/1+1", hashing(2), |q| {
        let absorbed = q.upload(&[Digest([7; 8])])?;
        let (mut channel, mut challenges) = (q.zeros::<ChannelState>(1)?, q.zeros::<QM31>(1)?);
        Ok(Box::new(move |q| {
            let (absorbed, channel, challenges) = (absorbed.view(), channel.view_mut(), challenges.view_mut());
            Ok(q.channel_mix_digests(ChannelMixDigests { absorbed, channel, challenges })?)
        }))
    })
}

fn felts_absorbed(count: usize) -> Line {
    let size = hashing((8 + 4 * count).div_ceil(16));
    Line::new(&format!("channel.mix_felts/{count}"), size, move |q| {
        let absorbed = q.upload(&vec![QM31::U; count])?;
        let (mut channel, mut challenges) = (q.zeros::<ChannelState>(1)?, q.zeros::<QM31>(0)?);
        Ok(Box::new(move |q| {
            let (absorbed, channel, challenges) = (absorbed.view(), channel.view_mut(), challenges.view_mut());
            Ok(q.channel_mix_felts(ChannelMixFelts { absorbed, channel, challenges })?)
        }))
    })
}

fn queries(queries: u32) -> Line {
    let size = hashing(queries.div_ceil(8) as usize);
    Line::new(&format!("channel.queries/{queries}"), size, move |q| {
        let (mut channel, mut positions) = (q.zeros::<ChannelState>(1)?, q.zeros::<u32>(queries as usize)?);
        let params = ChannelQueriesParams { log_size: 20, queries };
        Ok(Box::new(move |q| {
            let (channel, positions) = (channel.view_mut(), positions.view_mut());
            Ok(q.channel_queries(ChannelQueries { params: &params, channel, positions })?)
        }))
    })
}

fn grind(SearchSize { bits, nonces }: SearchSize) -> Line {
    let size = RunSize::computing("nonce", nonces as f64, 0.0);
    Line::new(&format!("channel.grind/{bits} bits"), size, move |q| {
        let (channel, mut nonce) = (q.zeros::<ChannelState>(1)?, q.zeros::<u32>(2)?);
        let params = ChannelGrindParams { bits };
        Ok(Box::new(move |q| {
            Ok(q.channel_grind(ChannelGrind { params: &params, channel: channel.view(), nonce: nonce.view_mut() })?)
        }))
    })
}

fn plain_grind() -> Contender {
    let prefix = [7u8; 32];
    Contender::new("crate blake2, one nonce after the other", move || {
        for nonce in 0..SOME_BITS.nonces {
            let digest: [u8; 32] =
                Blake2s256::new().chain_update(prefix).chain_update(nonce.to_le_bytes()).finalize().into();
            core::hint::black_box(digest);
        }
    })
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
