//! What a proof takes.

use super::{air::AirOps, channel::ChannelOps, circle::CircleOps, deep::DeepOps, fri::FriOps, merkle::MerkleOps};

/// Every op set that a STARK proof takes.
pub trait StarkOps: AirOps + ChannelOps + CircleOps + DeepOps + FriOps + MerkleOps {}

impl<Q: AirOps + ChannelOps + CircleOps + DeepOps + FriOps + MerkleOps> StarkOps for Q {}
