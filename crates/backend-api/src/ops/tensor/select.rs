//! A choice between two elements.

use crate::{BufferMut, Real, ops::op};

op! {
    /// `y` is `a` where `mask` is true and `b` where it is false, bit for bit.
    ///
    /// The other operand has no effect.
    pub struct Select<'a, Q, T: Real> as "select" {
        /// Which is chosen.
        mask: read bool [len],
        /// Taken where the mask is true.
        a: read T [len],
        /// Taken where the mask is false.
        b: read T [len],
        /// The results.
        y: write T [len],
    }
    sizes(self) {
        let len = self.y.len();
    }
}
