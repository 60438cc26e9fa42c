//! The backend.

use serde::{Deserialize, Serialize};
use stwo::{
    core::vcs_lifted::blake2_merkle::Blake2sMerkleChannel,
    prover::backend::{Backend, BackendForChannel},
};

/// The backend of stwo that runs on a Trefoil backend.
///
/// It runs on the processor, on a GPU or on the simulated one, as selected by
/// [`open`](crate::open).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct TrefoilBackend;

impl Backend for TrefoilBackend {}

impl BackendForChannel<Blake2sMerkleChannel> for TrefoilBackend {}
