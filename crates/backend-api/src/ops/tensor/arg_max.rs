//! Where an axis is greatest.

use core_types::params::rows::AxisParams;

use crate::{Real, ops::op};

op! {
    /// y is the index along the axis of the greatest element of x.
    ///
    /// It is the lowest index among equal elements; zeros of both signs are equal. NaN counts as
    /// the greatest. An axis without elements is refused unless there is no result. An axis with
    /// 2^32 or more elements is always refused.
    pub struct ArgMax<'a, Q, T: Real> as "arg_max" {
        /// The shape.
        params: plain &'a AxisParams,
        /// The elements.
        x: read T [outer, len, inner],
        /// The indices.
        y: write u32 [outer, inner],
    }
    sizes(self) {
        let AxisParams { outer, len, inner } = *self.params;
    }
    valid(self) {
        len > 0 || outer == 0 || inner == 0, "the axis has no elements";
        len <= u64::from(u32::MAX), "expected an axis of fewer than 2^32 elements";
    }
}
