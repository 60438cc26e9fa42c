//! One value for every element.

use crate::{Real, ops::op};

op! {
    /// `y = value`, rounded to `T`.
    pub struct Fill<'a, Q, T: Real> as "fill" {
        /// What y is filled with.
        value: plain f32,
        /// Number of elements.
        len: plain usize,
        /// The elements.
        y: write T [len],
    }
    sizes(self) {
        let len = self.len;
    }
}
