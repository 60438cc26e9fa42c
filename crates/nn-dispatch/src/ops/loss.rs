//! Cross-entropy against probabilities.

use std::sync::Arc;

use backend_api::{Buffer, Queue};
use nn_ops::{CrossEntropyPlan, CrossEntropyResults, ElementwisePlan, Layout, NnError, TensorMut, TensorRef};

use super::lengths::exact;
use crate::{
    dispatcher::BackendDispatcher,
    error::DispatchError,
    handle::Operand,
    saved::{Pass, Saved},
};

pub(crate) fn cross_entropy(
    d: &BackendDispatcher,
    [logits, targets]: [Operand<'_>; 2],
    shape: [usize; 2],
) -> Result<(f32, Saved), DispatchError> {
    const OP: &str = "cross_entropy";
    let [rows, classes] = shape;
    let plan = CrossEntropyPlan::for_probs(rows, classes)?;
    if rows == 0 {
        return Err(NnError::EmptyReduction { op: OP }.into());
    }
    let (layout, of_losses) = (*plan.logits(), Layout::contiguous(&[rows])?);
    exact(OP, "logits", layout.numel(), logits.values().len())?;
    exact(OP, "targets", layout.numel(), targets.values().len())?;
    d.run(|target| {
        let (x, t) = (target.stage(logits, &d.counts)?, target.stage(targets, &d.counts)?);
        let q = &target.queue;
        // The losses of the rows, with the gradient of their mean.
        let (mut losses, mut gradient) = (q.alloc::<f32>(rows)?, q.alloc::<f32>(layout.numel())?);
        let results = CrossEntropyResults {
            losses: TensorMut::new(losses.view_mut(), of_losses)?,
            dlogits: TensorMut::new(gradient.view_mut(), layout)?,
        };
        plan.cross_entropy_probs(q, 1.0 / rows as f32, x.at(layout)?, t.at(layout)?, results)?;
        // The mean, in f64.
        let sum: f64 = q.download(&losses)?.into_iter().map(f64::from).sum();
        let pass = Pass::CrossEntropy { len: layout.numel(), gradient: Arc::new(gradient) };
        Ok(((sum / rows as f64) as f32, target.saved(pass)))
    })
}

pub(crate) fn cross_entropy_backward(
    d: &BackendDispatcher,
    saved: &Saved,
    g: f32,
    dlogits: &mut [f32],
) -> Result<(), DispatchError> {
    const OP: &str = "cross_entropy_backward";
    let Pass::CrossEntropy { len, gradient } = &saved.pass else {
        return Err(saved.refused(OP, "cross_entropy"));
    };
    exact(OP, "dlogits", *len, dlogits.len())?;
    let plan = ElementwisePlan::new(&[*len])?;
    d.run_backward(OP, saved, |target, is_own| {
        let gradient = target.transferred(saved, gradient, is_own)?;
        let (mut room, layout) = (target.room(dlogits)?, *plan.layout());
        plan.axpby(&target.queue, g, TensorRef::new(gradient.view(), layout)?, 0.0, room.at(layout)?)?;
        room.deliver(target)?;
        Ok(())
    })
}
