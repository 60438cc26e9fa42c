//! Cross-entropy against class numbers or against probabilities, with its gradient.

use backend_api::{
    BackendError, BufferMut, BufferRef, Real,
    ops::linalg::{CrossEntropy, CrossEntropyProbs},
};

use crate::{
    CudaQueue,
    checked::LossOps,
    ops::family::{KernelFamily, RowGroup, family, index_bound},
};

const WARP: KernelFamily = family!("linalg_entropy_warp");
const BLOCK: KernelFamily = family!("linalg_entropy_block");
const PROBS_WARP: KernelFamily = family!("linalg_entropy_probs_warp");
const PROBS_BLOCK: KernelFamily = family!("linalg_entropy_probs_block");

impl LossOps for CudaQueue {
    fn cross_entropy<T: Real>(&self, op: CrossEntropy<'_, Self, T>) -> Result<(), BackendError> {
        let CrossEntropy { classes, scale, logits, targets, losses, dlogits } = op;
        if logits.is_empty() {
            return Ok(());
        }
        let classes = index_bound("cross_entropy", classes as u64)?;
        let (rows, group) = (targets.len() as u64, RowGroup::new(classes.into(), false));
        let family = if group == RowGroup::Block { BLOCK } else { WARP };
        let launch = self.kernel(family.of::<T>())?.grid(group.grid(rows));
        let launch = launch.value("rows", &rows).value("classes", &classes).value("scale", &scale);
        let launch = launch.input("logits", logits).input("targets", targets);
        let launch = launch.output("losses", &losses).output("dlogits", &dlogits);
        // SAFETY: `CrossEntropy::check` verified that logits and dlogits have `rows classes` elements, targets and
        // losses `rows`; there is a class, since logits are not empty.
        unsafe { launch.launch() }
    }

    fn cross_entropy_probs<T: Real>(&self, op: CrossEntropyProbs<'_, Self, T>) -> Result<(), BackendError> {
        let CrossEntropyProbs { classes, scale, logits, probs, losses, dlogits } = op;
        if logits.is_empty() {
            return Ok(());
        }
        let classes = index_bound("cross_entropy_probs", classes as u64)?;
        let (rows, group) = (losses.len() as u64, RowGroup::new(classes.into(), false));
        let family = if group == RowGroup::Block { PROBS_BLOCK } else { PROBS_WARP };
        let launch = self.kernel(family.of::<T>())?.grid(group.grid(rows));
        let launch = launch.value("rows", &rows).value("classes", &classes).value("scale", &scale);
        let launch = launch.input("logits", logits).input("targets", probs);
        let launch = launch.output("losses", &losses).output("dlogits", &dlogits);
        // SAFETY: `CrossEntropyProbs::check` verified that logits, probs and dlogits have `rows classes` elements,
        // losses `rows`; there is a class, since logits are not empty.
        unsafe { launch.launch() }
    }
}
