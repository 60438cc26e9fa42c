//! Losses, each with its gradient.

use crate::{
    BufferMut, BufferRef, Real,
    ops::{op, op::flop::each},
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! loss_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Losses, each with its gradient in the same pass.
            ///
            /// Every op returns [`BackendError::Length`] if the views do not match.
            linalg::LossOps: Queue {
                cross_entropy<T>(CrossEntropy),
                cross_entropy_probs<T>(CrossEntropyProbs),
            }
        }
    };
}

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
    flop(self) {
        each(6, self.dlogits.len())
    }
}

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
    flop(self) {
        each(10, self.dlogits.len())
    }
}
