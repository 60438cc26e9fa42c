//! Sums over one axis.

use core_types::params::elementwise::SumParams;

use crate::{Real, ops::op};

op! {
    /// Sums over an axis in f32, in an order that depends on the shape alone.
    pub struct SumAxis<'a, Q, T: Real> as "sum_axis" {
        /// The shape.
        params: plain &'a SumParams,
        /// The elements.
        x: read T [outer, len, inner],
        /// The sums.
        y: write T [outer, inner],
    }
    sizes(self) {
        let SumParams { outer, len, inner, .. } = *self.params;
    }
}
