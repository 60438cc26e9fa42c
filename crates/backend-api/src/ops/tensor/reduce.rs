//! Sums, means and extremes along an axis.

use core_types::params::tensor::{ReduceParams, Reduction};

use crate::{Real, ops::op};

op! {
    /// `y = reduction of x over the axis`.
    ///
    /// Sums are taken in f64, in an order that depends on the shape alone, and rounded to f32, then
    /// to `T`. Without elements there is no mean and no extreme, and those are refused unless there
    /// is no result either.
    pub struct Reduce<'a, Q, T: Real> as "reduce" {
        /// The reduction and the shape.
        params: plain &'a ReduceParams,
        /// The elements.
        x: read T [outer, len, inner],
        /// The results.
        y: write T [outer, inner],
    }
    sizes(self) {
        let ReduceParams { reduction, outer, len, inner, .. } = *self.params;
    }
    valid(self) {
        len > 0 || reduction == Reduction::Sum || outer == 0 || inner == 0, "the axis has no elements";
    }
}
