use backend_api::{
    BackendError, BufferMut, BufferRef, Real,
    ops::linalg::{LossOps, check_len, product},
};

use super::index_bound;
use crate::{CudaMut, CudaQueue, CudaRef, launch::linalg};

impl LossOps for CudaQueue {
    fn cross_entropy<T: Real>(
        &self,
        classes: usize,
        scale: f32,
        logits: CudaRef<'_, T>,
        targets: CudaRef<'_, u32>,
        losses: CudaMut<'_, f32>,
        dlogits: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        let elements = product(&[classes as u64, targets.len() as u64]);
        check_len(elements, logits.len())?;
        check_len(targets.len() as u64, losses.len())?;
        check_len(elements, dlogits.len())?;
        if elements == 0 {
            return Ok(());
        }
        let classes = index_bound("cross_entropy", classes as u64)?;
        linalg::entropy(self, classes, scale, logits, targets, &losses, &dlogits)
    }

    fn cross_entropy_probs<T: Real>(
        &self,
        classes: usize,
        scale: f32,
        logits: CudaRef<'_, T>,
        probs: CudaRef<'_, T>,
        losses: CudaMut<'_, f32>,
        dlogits: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        let elements = product(&[classes as u64, losses.len() as u64]);
        check_len(elements, logits.len())?;
        check_len(elements, probs.len())?;
        check_len(elements, dlogits.len())?;
        if elements == 0 {
            return Ok(());
        }
        let classes = index_bound("cross_entropy_probs", classes as u64)?;
        linalg::entropy_probs(self, classes, scale, logits, probs, &losses, &dlogits)
    }
}
