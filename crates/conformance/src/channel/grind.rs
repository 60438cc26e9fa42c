//! Proof of work.

use backend_api::{
    Buffer as _, Queue,
    ops::channel::{ChannelGrind, ChannelOps},
};
use core_types::params::channel::ChannelGrindParams;

use super::model::TranscriptModel;
use crate::{Case, Conditioned, Failure, OpSpec};

/// Transcripts whose nonces are looked for with each number of bits.
const TRANSCRIPTS: u32 = 6;

/// Finds the nonces of some transcripts, which stay as they are.
fn expect_first_nonces(q: &Conditioned, bits: u32, transcripts: u32) -> Result<(), Failure> {
    for seed in 0..transcripts {
        let model = TranscriptModel::used(100 * bits + seed);
        let (channel, mut nonce) = (q.upload(&[model.state()])?, q.upload(&[u32::MAX; 2])?);
        q.channel_grind(ChannelGrind {
            params: &ChannelGrindParams { bits },
            channel: channel.view(),
            nonce: nonce.view_mut(),
        })?;
        Failure::unless_equal(&model.first_nonce(bits), &q.download(&nonce)?)?;
        Failure::unless_equal(&[model.state()], &q.download(&channel)?)?;
    }
    Ok(())
}

pub(super) fn grind() -> OpSpec {
    let mut cases = Vec::new();
    for bits in 0..=8 {
        cases.push(Case::new(format!("{bits} bits"), move |q| expect_first_nonces(q, bits, TRANSCRIPTS)));
    }
    for bits in [10, 13, 16] {
        let case = Case::new(format!("{bits} bits"), move |q| expect_first_nonces(q, bits, 1));
        cases.push(case.on_elements(1 << bits));
    }
    // The lower word of the nonce has run through all its numbers before.
    let case = Case::new("an upper word that is not zero", |q| expect_first_nonces(q, 20, 3));
    cases.push(case.on_elements(1 << 20));
    cases.push(Case::new("41 bits are refused", |q| {
        let (channel, mut nonce) = (q.zeros(1)?, q.zeros(2)?);
        let params = ChannelGrindParams { bits: 41 };
        let found = q.channel_grind(ChannelGrind { params: &params, channel: channel.view(), nonce: nonce.view_mut() });
        Failure::unless_refused("41 bits of work", found)
    }));
    OpSpec { op: "channel.grind", cases }
}
