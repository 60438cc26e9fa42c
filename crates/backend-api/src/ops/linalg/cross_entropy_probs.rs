//! Cross-entropy against probabilities.

use super::shape::elements;

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// Softmax cross-entropy against probabilities t, with its gradient in the same pass.
    ///
    /// `losses[r] = -sum_j t_j log_softmax(x)_j` and
    /// `dlogits[r][j] = scale (softmax(x)_j sum_i t_i - t_j)`.
    pub struct CrossEntropyProbs<'a, Q, T: Real> as "cross_entropy_probs" {
        /// Logits of a row, at least 1.
        classes: plain usize,
        /// Factor of the gradient.
        scale: plain f32,
        /// Row-major `rows x classes`.
        logits: read T,
        /// Row-major `rows x classes`.
        probs: read T,
        /// The loss of each row.
        losses: write f32,
        /// The gradient with respect to the logits.
        dlogits: write T,
    }
}

impl<Q: Queue, T: Real> CrossEntropyProbs<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`LossOps`](super::LossOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let rows = self.losses.len();
        let logits = elements(&[rows as u64, self.classes as u64]);
        self.expect([logits, logits, rows, logits])
    }
}
