//! The op sets that a proof takes.

use backend_api::ops::{
    air::AirOps, channel::ChannelOps, circle::CircleOps, deep::DeepOps, fri::FriOps, merkle::MerkleOps,
};

/// A queue that can prove: it has all op sets of a proof.
pub trait StarkOps: AirOps + ChannelOps + CircleOps + DeepOps + FriOps + MerkleOps {}

impl<Q: AirOps + ChannelOps + CircleOps + DeepOps + FriOps + MerkleOps> StarkOps for Q {}
