//! The backend.

use serde::{Deserialize, Serialize};
use stwo::{
    core::{fields::m31::BaseField, vcs_lifted::blake2_merkle::Blake2sMerkleChannel},
    prover::{
        backend::{Backend, BackendForChannel, simd::SimdBackend},
        poly::{BitReversedOrder, circle::CircleEvaluation},
    },
};

use crate::DeviceColumn;

/// The backend of stwo that runs on Trefoil's: on the processor, on a GPU or on the simulated one, as
/// [`open`](crate::open) says.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct TrefoilBackend;

impl Backend for TrefoilBackend {}

impl BackendForChannel<Blake2sMerkleChannel> for TrefoilBackend {}

impl TrefoilBackend {
    /// Columns of stwo's SIMD backend, as those that traces are generated in, for this one.
    #[must_use]
    pub fn columns(
        columns: Vec<CircleEvaluation<SimdBackend, BaseField, BitReversedOrder>>,
    ) -> Vec<CircleEvaluation<Self, BaseField, BitReversedOrder>> {
        let column = |column: CircleEvaluation<SimdBackend, BaseField, BitReversedOrder>| {
            CircleEvaluation::new(column.domain, DeviceColumn::from(column.values.into_cpu_vec()))
        };
        columns.into_iter().map(column).collect()
    }
}
