//! Cross-entropy against class numbers.

use super::shape::elements;

use crate::{
    BackendError, BufferRef, Queue, Real,
    ops::{Op, op},
};

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
        /// Row-major `rows x classes`.
        logits: read T,
        /// The class of each row.
        targets: read u32,
        /// The loss of each row.
        losses: write f32,
        /// The gradient with respect to the logits.
        dlogits: write T,
    }
}

impl<Q: Queue, T: Real> CrossEntropy<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`LossOps`](super::LossOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let rows = self.targets.len();
        let logits = elements(&[rows as u64, self.classes as u64]);
        self.expect([logits, rows, rows, logits])
    }
}
