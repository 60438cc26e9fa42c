//! The weighted sum of two vectors, in place of one of them.

use crate::{BufferMut, Real, ops::op};

op! {
    /// `y = alpha x + beta y`. With `beta = 0`, y is not read.
    pub struct Axpby<'a, Q, T: Real> as "axpby" {
        /// Factor of x.
        alpha: plain f32,
        /// The addend.
        x: read T [len],
        /// Factor of y.
        beta: plain f32,
        /// The result.
        y: write T [len],
    }
    sizes(self) {
        let len = self.y.len();
    }
}
