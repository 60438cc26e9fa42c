//! The op sets of a STARK prover.

use super::{air::AirOps, channel::ChannelOps, circle::CircleOps, deep::DeepOps, fri::FriOps, merkle::MerkleOps};
use crate::{Fork, Register};

/// All op sets of a STARK prover, plus a second queue and registered host memory.
///
/// The last two load coefficients from the host while other work runs.
pub trait StarkOps: AirOps + ChannelOps + CircleOps + DeepOps + FriOps + MerkleOps + Fork + Register {}

impl<Q: AirOps + ChannelOps + CircleOps + DeepOps + FriOps + MerkleOps + Fork + Register> StarkOps for Q {}
