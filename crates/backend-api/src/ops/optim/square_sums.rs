//! Sums of squares of gradients.

use core_types::params::optim::PART;

use crate::{BufferRef, Real, ops::op};

op! {
    /// Sums of the squares of parts of the gradients, in f64.
    ///
    /// The order of summation depends only on the number of gradients.
    ///
    /// No sum of squares of finite f32 numbers overflows or vanishes in f64, so a sum that is not
    /// finite tells that a gradient is not. Gradients in several buffers have their sums side by
    /// side.
    pub struct SquareSums<'a, Q, T: Real> as "square_sums" {
        /// Gradients.
        g: read T,
        /// One sum per [`PART`] elements; the last part may be shorter.
        sums: write f64 [parts],
    }
    sizes(self) {
        let parts = self.g.len().div_ceil(PART);
    }
}
