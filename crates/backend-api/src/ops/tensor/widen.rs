//! Conversion to f32.

use crate::{BufferMut, Real, ops::op};

op! {
    /// `y = x`, which is exact.
    pub struct Widen<'a, Q, T: Real> as "widen" {
        /// The elements.
        x: read T [len],
        /// The results.
        y: write f32 [len],
    }
    sizes(self) {
        let len = self.y.len();
    }
}
