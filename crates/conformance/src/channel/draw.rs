//! Draws of challenges and positions.

use backend_api::{
    Buffer as _, Queue,
    ops::channel::{ChannelDraw, ChannelOps, ChannelQueries},
};
use core_types::params::channel::ChannelQueriesParams;

use super::model::TranscriptModel;
use crate::{Case, Conditioned, Failure, OpSpec, spec::BATCHES};

/// Draws challenges twice from one transcript, whose draws are counted on.
fn expect_challenges(q: &Conditioned, seed: u32, count: usize) -> Result<(), Failure> {
    let mut model = TranscriptModel::used(seed);
    let mut channel = q.upload(&[model.state()])?;
    for _ in 0..2 {
        let mut challenges = q.zeros(count)?;
        q.channel_draw(ChannelDraw { channel: channel.view_mut(), challenges: challenges.view_mut() })?;
        Failure::unless_equal(&model.draw(count), &q.download(&challenges)?)?;
        Failure::unless_equal(&[model.state()], &q.download(&channel)?)?;
    }
    Ok(())
}

pub(super) fn challenges() -> OpSpec {
    let counts = [2, 3, 4, 5, 7, 8, 70].into_iter().chain(BATCHES.map(|count| count as usize));
    let mut cases = Vec::new();
    for (seed, count) in (0..).zip(counts) {
        let case = Case::new(format!("{count} challenges"), move |q| expect_challenges(q, seed, count));
        cases.push(case.on_elements(count as u64));
    }
    OpSpec { op: "channel.draw", cases }
}

/// Draws positions twice from one transcript, whose draws are counted on.
fn expect_positions(q: &Conditioned, log_size: u32, queries: u32) -> Result<(), Failure> {
    let mut model = TranscriptModel::used(log_size + queries);
    let mut channel = q.upload(&[model.state()])?;
    let params = ChannelQueriesParams { log_size, queries };
    for _ in 0..2 {
        let mut positions = q.zeros(queries as usize)?;
        q.channel_queries(ChannelQueries {
            params: &params,
            channel: channel.view_mut(),
            positions: positions.view_mut(),
        })?;
        Failure::unless_equal(&model.positions(log_size, queries as usize), &q.download(&positions)?)?;
        Failure::unless_equal(&[model.state()], &q.download(&channel)?)?;
    }
    Ok(())
}

pub(super) fn queries() -> OpSpec {
    let mut cases = Vec::new();
    for log_size in 0..=30 {
        cases.push(Case::new(format!("13 of 2^{log_size}"), move |q| expect_positions(q, log_size, 13)));
    }
    for queries in [2, 3, 7, 8, 9, 15, 16, 17, 70, 100, 1000].into_iter().chain(BATCHES) {
        let case = Case::new(format!("{queries} of 2^19"), move |q| expect_positions(q, 19, queries));
        cases.push(case.on_elements(queries.into()));
    }
    cases.push(Case::new("of 2^31 are refused", |q| {
        let (mut channel, mut positions) = (q.zeros(1)?, q.zeros(3)?);
        let params = ChannelQueriesParams { log_size: 31, queries: 3 };
        let (channel, positions) = (channel.view_mut(), positions.view_mut());
        let result = q.channel_queries(ChannelQueries { params: &params, channel, positions });
        Failure::unless_refused("positions of 2^31", result)
    }));
    OpSpec { op: "channel.queries", cases }
}
