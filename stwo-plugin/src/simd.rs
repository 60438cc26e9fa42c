//! Columns of stwo's SIMD backend, which traces are generated in.

use stwo::{
    core::fields::m31::BaseField,
    prover::{
        backend::simd::SimdBackend,
        poly::{BitReversedOrder, circle::CircleEvaluation},
    },
};

use crate::{DeviceColumn, TrefoilBackend};

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
