//! Parameters of the ops on transcripts.

use bytemuck::{Pod, Zeroable};

use crate::{blake2s::Digest, params::sizes::sizes};

/// A transcript over Blake2s, as stwo's Blake2s channel has it. A fresh one is all zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ChannelState {
    /// Digest of everything absorbed so far.
    pub digest: Digest,
    /// Draws since the last absorption.
    pub draws: u32,
}

/// Drawing of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ChannelQueriesParams {
    /// Log of the number of positions to draw from, at most 30.
    pub log_size: u32,
    /// Positions to draw.
    pub queries: u32,
}

sizes!(ChannelQueriesParams { log_size, queries });

/// Search for a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ChannelGrindParams {
    /// Number of zero bits required of the nonce, at most 40.
    ///
    /// More zero bits are not found in a practical time.
    pub bits: u32,
}

sizes!(ChannelGrindParams { bits });
