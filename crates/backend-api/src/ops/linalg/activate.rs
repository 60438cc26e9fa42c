//! An activation function of every element.

use core_types::params::elementwise::Activation;

use crate::{BufferMut, Real, ops::op};

op! {
    /// `y = f(x)`.
    pub struct Activate<'a, Q, T: Real> as "activate" {
        /// The function.
        f: plain Activation,
        /// Its arguments.
        x: read T [len],
        /// The results.
        y: write T [len],
    }
    sizes(self) {
        let len = self.y.len();
    }
}
