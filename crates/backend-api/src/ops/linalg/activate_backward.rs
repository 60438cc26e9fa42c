//! The gradient of an activation function.

use core_types::params::elementwise::Activation;

use crate::{BufferMut, Real, ops::op};

op! {
    /// `dx = g f'(x)`.
    ///
    /// For ReLU it is g or 0, even where g is infinite, and NaN where `saved` is NaN.
    pub struct ActivateBackward<'a, Q, T: Real> as "activate_backward" {
        /// The function.
        f: plain Activation,
        /// y for functions with [`Activation::saves_output`], x for the others.
        saved: read T [len],
        /// The gradient with respect to y.
        g: read T [len],
        /// The gradient with respect to x.
        dx: write T [len],
    }
    sizes(self) {
        let len = self.dx.len();
    }
}
