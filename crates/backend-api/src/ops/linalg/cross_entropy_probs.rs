//! Cross-entropy against probabilities.

use crate::{BufferMut, Real, ops::op};

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
        /// The logits.
        logits: read T [rows, classes],
        /// The probabilities.
        probs: read T [rows, classes],
        /// The loss of each row.
        losses: write f32 [rows],
        /// The gradient with respect to the logits.
        dlogits: write T [rows, classes],
    }
    sizes(self) {
        let (rows, classes) = (self.losses.len(), self.classes);
    }
}
