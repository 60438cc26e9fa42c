//! What a proof takes.

use super::{air::AirOps, channel::ChannelOps, circle::CircleOps, deep::DeepOps, fri::FriOps, merkle::MerkleOps};
use crate::{Fork, Register};

/// Every op set that a STARK proof takes, and what brings coefficients from the host beside the work: memory that the device was shown,
/// and a second queue.
pub trait StarkOps: AirOps + ChannelOps + CircleOps + DeepOps + FriOps + MerkleOps + Fork + Register {}

impl<Q: AirOps + ChannelOps + CircleOps + DeepOps + FriOps + MerkleOps + Fork + Register> StarkOps for Q {}
