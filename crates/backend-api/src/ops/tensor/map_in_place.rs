//! A function of every element, in its place.

use core_types::params::tensor::MapParams;

use super::shape::map_is_defined;
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
        map_is_defined(OP, self.params)?;
    }
}
