//! A function of every element, in its place.

use core_types::params::tensor::MapParams;

use super::shape::map_fault;
use crate::{Real, ops::op};

op! {
    /// `x = f(x)`, with the bits of [`Map`](super::Map).
    pub struct MapInPlace<'a, Q, T: Real> as "map_in_place" {
        /// The function.
        params: plain &'a MapParams,
        /// Number of elements.
        len: plain usize,
        /// The arguments, then the results.
        x: write T [len],
    }
    sizes(self) {
        let len = self.len;
        let fault = map_fault(self.params);
    }
    valid(self) {
        fault.is_none(), fault.unwrap_or_default();
    }
}
