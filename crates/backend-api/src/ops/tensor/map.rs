//! A function of every element.

use core_types::params::tensor::MapParams;

use super::shape::map_fault;
use crate::{BufferMut, Real, ops::op};

op! {
    /// `y = f(x)`.
    ///
    /// A clamp between bounds out of order or NaN and a Huber function without a positive bound are
    /// refused.
    pub struct Map<'a, Q, T: Real> as "map" {
        /// The function.
        params: plain &'a MapParams,
        /// Its arguments.
        x: read T [len],
        /// The results.
        y: write T [len],
    }
    sizes(self) {
        let len = self.y.len();
        let fault = map_fault(self.params);
    }
    valid(self) {
        fault.is_none(), fault.unwrap_or_default();
    }
}
