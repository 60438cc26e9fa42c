//! Cross-entropy.

use backend_api::{BackendError, BufferMut, BufferRef, Real};

use super::{KernelFamily, RowGroup, family};
use crate::{CudaMut, CudaQueue, CudaRef};

const WARP: KernelFamily = family!("linalg_entropy_warp");
const BLOCK: KernelFamily = family!("linalg_entropy_block");
const PROBS_WARP: KernelFamily = family!("linalg_entropy_probs_warp");
const PROBS_BLOCK: KernelFamily = family!("linalg_entropy_probs_block");

pub(crate) fn entropy<T: Real>(
    queue: &CudaQueue,
    classes: u32,
    scale: f32,
    logits: CudaRef<'_, T>,
    targets: CudaRef<'_, u32>,
    losses: &CudaMut<'_, f32>,
    dlogits: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let (rows, group) = (targets.len() as u64, RowGroup::new(classes.into(), false));
    let family = if group == RowGroup::Block { BLOCK } else { WARP };
    let launch = queue.kernel(family.of::<T>())?.grid(group.grid(rows));
    let launch = launch.value("rows", &rows).value("classes", &classes).value("scale", &scale);
    let launch = launch.input("logits", logits).input("targets", targets);
    let launch = launch.output("losses", losses).output("dlogits", dlogits);
    // SAFETY: the op has checked that logits and dlogits have `rows classes` elements, targets and losses `rows`, and
    // that there is a class.
    unsafe { launch.launch() }
}

pub(crate) fn entropy_probs<T: Real>(
    queue: &CudaQueue,
    classes: u32,
    scale: f32,
    logits: CudaRef<'_, T>,
    probs: CudaRef<'_, T>,
    losses: &CudaMut<'_, f32>,
    dlogits: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let (rows, group) = (losses.len() as u64, RowGroup::new(classes.into(), false));
    let family = if group == RowGroup::Block { PROBS_BLOCK } else { PROBS_WARP };
    let launch = queue.kernel(family.of::<T>())?.grid(group.grid(rows));
    let launch = launch.value("rows", &rows).value("classes", &classes).value("scale", &scale);
    let launch = launch.input("logits", logits).input("targets", probs);
    let launch = launch.output("losses", losses).output("dlogits", dlogits);
    // SAFETY: the op has checked that logits, probs and dlogits have `rows classes` elements, losses `rows`, and that
    // there is a class.
    unsafe { launch.launch() }
}
