//! Cross-entropy against class numbers.

use crate::{BufferRef, Real, ops::op};

op! {
    /// Softmax cross-entropy against class numbers, with its gradient in the same pass.
    ///
    /// Row r with class `c = targets[r] < classes` gives `losses[r] = ln(sum_j exp(x_j)) - x_c` and
    /// `dlogits[r][j] = scale (softmax(x)_j - [j = c])`; a row whose target is not below `classes`
    /// is ignored: loss and gradient are zero.
    pub struct CrossEntropy<'a, Q, T: Real> as "cross_entropy" {
        /// Logits of a row, at least 1.
        classes: plain usize,
        /// Factor of the gradient.
        scale: plain f32,
        /// The logits.
        logits: read T [rows, classes],
        /// The class of each row.
        targets: read u32 [rows],
        /// The loss of each row.
        losses: write f32 [rows],
        /// The gradient with respect to the logits.
        dlogits: write T [rows, classes],
    }
    sizes(self) {
        let (rows, classes) = (self.targets.len(), self.classes);
    }
}
