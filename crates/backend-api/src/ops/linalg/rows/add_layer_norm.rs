//! Layer normalisation of a sum.

use core_types::params::rows::NormParams;

use crate::{Real, ops::op};

op! {
    /// A residual connection and its layer norm.
    ///
    /// `sum = x + r`, added in f32 and rounded to `T`. [`LayerNorm`](super::LayerNorm) then
    /// normalises the rounded `sum`, with the same errors.
    pub struct AddLayerNorm<'a, Q, T: Real> as "add_layer_norm" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The first addend.
        x: read T [rows, len],
        /// The second addend.
        r: read T [rows, len],
        /// A factor for each column; 1 without.
        gamma: read_if T [len],
        /// An addend for each column; 0 without.
        beta: read_if T [len],
        /// The sum.
        sum: write T [rows, len],
        /// The normalised rows of the sum.
        y: write T [rows, len],
        /// The means of all rows of the sum, then their rstd.
        stats: write f32 [2, rows],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
}
