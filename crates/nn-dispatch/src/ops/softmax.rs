//! Softmax and log-softmax with masks.

use nn_ops::{Layout, Mask, NnError, SoftmaxPlan};

use super::lengths::exact;
use crate::{
    args::SoftmaxMask,
    dispatcher::BackendDispatcher,
    error::Result,
    handle::Operand,
    saved::{Saved, SavedPass},
};

pub(crate) fn softmax(
    d: &BackendDispatcher,
    is_log: bool,
    x: Operand<'_>,
    (shape, dim): (&[usize], usize),
    mask: SoftmaxMask<'_>,
    y: &mut [f32],
) -> Result<Saved> {
    let op = if is_log { "log_softmax" } else { "softmax" };
    let (plan, layout) = (SoftmaxPlan::new(shape, dim)?, Layout::contiguous(shape)?);
    exact(op, &[("x", layout.numel(), x.len()), ("y", layout.numel(), y.len())])?;
    let addend = match mask {
        SoftmaxMask::Additive(addend) => Some((addend, mask_layout(op, shape, dim, addend.values().len())?)),
        SoftmaxMask::None | SoftmaxMask::Causal { .. } => None,
    };
    d.run(|target| {
        // Operands and room.
        let x = target.stage(x, &d.counts)?;
        let addend = match addend {
            Some((addend, layout)) => Some((target.stage(addend, &d.counts)?, layout)),
            None => None,
        };
        let mask = match (mask, &addend) {
            (SoftmaxMask::Causal { offset }, _) => Mask::Causal { offset },
            (_, Some((addend, layout))) => Mask::Additive(addend.at(*layout)?),
            (_, None) => Mask::None,
        };
        let mut room = target.room(y)?;
        // The rows.
        if is_log {
            plan.log_softmax(&target.queue, x.at(layout)?, mask, room.at(layout)?)?;
        } else {
            plan.softmax(&target.queue, x.at(layout)?, mask, room.at(layout)?)?;
        }
        let y = room.deliver(target)?;
        Ok(target.saved(SavedPass::Softmax { is_log, layout, dim, y }))
    })
}

pub(crate) fn softmax_backward(
    d: &BackendDispatcher,
    is_log: bool,
    saved: &Saved,
    [y, g]: [Operand<'_>; 2],
    dx: &mut [f32],
) -> Result<()> {
    let (op, expected) = if is_log { ("log_softmax_backward", "log_softmax") } else { ("softmax_backward", "softmax") };
    let (layout, dim, kept) = match &saved.pass {
        SavedPass::Softmax { is_log: of_log, layout, dim, y } if *of_log == is_log => (*layout, *dim, y),
        _ => return Err(saved.refused(op, expected)),
    };
    // Lengths.
    let plan = SoftmaxPlan::new(layout.shape(), dim)?;
    exact(op, &[("y", layout.numel(), y.len()), ("g", layout.numel(), g.len()), ("dx", layout.numel(), dx.len())])?;
    // The gradient.
    d.run_backward(op, saved, |target, is_own| {
        let (y, g) = (target.recall(kept, is_own, y, &d.counts)?, target.stage(g, &d.counts)?);
        let mut room = target.room(dx)?;
        if is_log {
            plan.log_softmax_backward(&target.queue, y.at(layout)?, g.at(layout)?, room.at(layout)?)?;
        } else {
            plan.softmax_backward(&target.queue, y.at(layout)?, g.at(layout)?, room.at(layout)?)?;
        }
        room.deliver(target)?;
        Ok(())
    })
}

/// The layout of an additive mask of `len` elements.
///
/// It has the last axes of the logits, beginning with the axis of the softmax or one before it.
fn mask_layout(op: &'static str, shape: &[usize], dim: usize, len: usize) -> Result<Layout, NnError> {
    for missing in 0..=dim {
        let layout = Layout::contiguous(&shape[missing..])?;
        if layout.numel() == len {
            return Ok(layout);
        }
    }
    let expected = Layout::contiguous(shape)?.numel();
    Err(NnError::Length { op, tensor: "mask", expected, got: len })
}
