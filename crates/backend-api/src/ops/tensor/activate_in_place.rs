//! An activation function of every element, in its place.

use core_types::params::elementwise::Activation;

use crate::{Real, ops::op};

op! {
    /// `x = f(x)`, with the bits of [`Activate`](crate::ops::linalg::Activate).
    pub struct ActivateInPlace<'a, Q, T: Real> as "activate_in_place" {
        /// The function.
        f: plain Activation,
        /// Number of elements.
        len: plain usize,
        /// The arguments, then the results.
        x: write T [len],
    }
    sizes(self) {
        let len = self.len;
    }
}
