use crate::{BackendError, Mut, Queue, Real, Ref};

/// Losses, each with its gradient in the same pass.
pub trait LossOps: Queue {
    /// Softmax cross-entropy of row-major `rows x classes` logits against class numbers.
    ///
    /// Row r with class `c = targets[r] < classes` gives `losses[r] = ln(sum_j exp(x_j)) - x_c` and
    /// `dlogits[r][j] = scale (softmax(x)_j - [j = c])`; a row whose target is not below `classes` is ignored: loss and gradient
    /// are zero. `classes` is at least 1.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the views do not match.
    fn cross_entropy<T: Real>(
        &self,
        classes: usize,
        scale: f32,
        logits: Ref<'_, Self, T>,
        targets: Ref<'_, Self, u32>,
        losses: Mut<'_, Self, f32>,
        dlogits: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;

    /// Softmax cross-entropy against probabilities t: `losses[r] = -sum_j t_j log_softmax(x)_j` and
    /// `dlogits[r][j] = scale (softmax(x)_j sum_i t_i - t_j)`. `classes` is at least 1.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the views do not match.
    fn cross_entropy_probs<T: Real>(
        &self,
        classes: usize,
        scale: f32,
        logits: Ref<'_, Self, T>,
        probs: Ref<'_, Self, T>,
        losses: Mut<'_, Self, f32>,
        dlogits: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;
}
