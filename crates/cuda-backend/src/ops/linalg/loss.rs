//! Cross-entropy against class numbers or against probabilities, with its gradient.

use backend_api::{
    BackendError, BufferRef, Real,
    ops::linalg::{CrossEntropy, CrossEntropyProbs},
};

use super::index_bound;
use crate::checked::LossOps;
use crate::{CudaQueue, launch::linalg::loss};

impl LossOps for CudaQueue {
    fn cross_entropy<T: Real>(&self, op: CrossEntropy<'_, Self, T>) -> Result<(), BackendError> {
        let CrossEntropy { classes, scale, logits, targets, losses, dlogits } = op;
        if logits.is_empty() {
            return Ok(());
        }
        let classes = index_bound("cross_entropy", classes as u64)?;
        loss::entropy(self, classes, scale, logits, targets, &losses, &dlogits)
    }

    fn cross_entropy_probs<T: Real>(&self, op: CrossEntropyProbs<'_, Self, T>) -> Result<(), BackendError> {
        let CrossEntropyProbs { classes, scale, logits, probs, losses, dlogits } = op;
        if logits.is_empty() {
            return Ok(());
        }
        let classes = index_bound("cross_entropy_probs", classes as u64)?;
        loss::entropy_probs(self, classes, scale, logits, probs, &losses, &dlogits)
    }
}
