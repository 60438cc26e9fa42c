//! Device speed of transcripts and of proof of work.

use backend_api::{
    Buffer as _, Queue,
    ops::channel::{ChannelGrind, ChannelMixDigests, ChannelMixFelts, ChannelOps, ChannelQueries},
};
use core_types::{
    blake2s::Digest,
    field::QM31,
    params::channel::{ChannelGrindParams, ChannelQueriesParams, ChannelState},
};

use super::{DeviceLine, Extent, RunSize};
use crate::channel::{FEW_BITS, MANY_BITS, SearchSize};

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    let (felts, search) = match extent {
        Extent::Full => (4000, MANY_BITS),
        Extent::Small => (40, FEW_BITS),
    };
    vec![root(), felts_absorbed(felts), queries(70), grind(search)]
}

/// The size of a line that is dominated by sequential compressions.
fn hashing(compressions: usize) -> RunSize {
    RunSize { unit: "compression", work: compressions as f64, bytes: 0.0, resident: 0.0 }
}

/// Absorbs a root and draws a challenge, as between layers of FRI.
fn root() -> DeviceLine {
    DeviceLine::new("channel.mix_digests/1+1", hashing(2), |q| {
        let absorbed = q.upload(&[Digest([7; 8])])?;
        let (mut channel, mut challenges) = (q.zeros(1)?, q.zeros(1)?);
        Ok(Box::new(move |q| {
            Ok(q.channel_mix_digests(ChannelMixDigests {
                absorbed: absorbed.view(),
                channel: channel.view_mut(),
                challenges: challenges.view_mut(),
            })?)
        }))
    })
}

fn felts_absorbed(count: usize) -> DeviceLine {
    let size = hashing((8 + 4 * count).div_ceil(16));
    DeviceLine::new(format!("channel.mix_felts/{count}"), size, move |q| {
        let absorbed = q.upload(&vec![QM31::U; count])?;
        let (mut channel, mut challenges) = (q.zeros(1)?, q.zeros(0)?);
        Ok(Box::new(move |q| {
            Ok(q.channel_mix_felts(ChannelMixFelts {
                absorbed: absorbed.view(),
                channel: channel.view_mut(),
                challenges: challenges.view_mut(),
            })?)
        }))
    })
}

fn queries(queries: u32) -> DeviceLine {
    let size = hashing(queries.div_ceil(8) as usize);
    DeviceLine::new(format!("channel.queries/{queries}"), size, move |q| {
        let (mut channel, mut positions) = (q.zeros(1)?, q.zeros(queries as usize)?);
        let params = ChannelQueriesParams { log_size: 20, queries };
        Ok(Box::new(move |q| {
            Ok(q.channel_queries(ChannelQueries {
                params: &params,
                channel: channel.view_mut(),
                positions: positions.view_mut(),
            })?)
        }))
    })
}

fn grind(SearchSize { bits, nonces }: SearchSize) -> DeviceLine {
    let size = RunSize { unit: "nonce", work: nonces as f64, bytes: 0.0, resident: 0.0 };
    DeviceLine::new(format!("channel.grind/{bits} bits"), size, move |q| {
        let (channel, mut nonce) = (q.upload(&[ChannelState::default()])?, q.zeros(2)?);
        let params = ChannelGrindParams { bits };
        Ok(Box::new(move |q| {
            Ok(q.channel_grind(ChannelGrind { params: &params, channel: channel.view(), nonce: nonce.view_mut() })?)
        }))
    })
}
