//! Activations.

use nn_ops::{Activation, ElementwisePlan};

use super::lengths::exact;
use crate::{
    dispatcher::BackendDispatcher,
    error::Result,
    handle::Operand,
    saved::{Saved, SavedPass},
};

/// `y = f(x)`, for a function whose gradient is computed from x.
pub(crate) fn activate(
    d: &BackendDispatcher,
    (op, f): (&'static str, Activation),
    x: Operand<'_>,
    y: &mut [f32],
) -> Result<Saved> {
    let len = x.values().len();
    let plan = ElementwisePlan::new(&[len])?;
    exact(op, &[("y", len, y.len())])?;
    d.run(|target| {
        let x = target.stage(x, &d.counts)?;
        let mut room = target.room(y)?;
        plan.activate(&target.queue, f, x.at(*plan.layout())?, room.at(*plan.layout())?)?;
        room.deliver(target)?;
        Ok(target.saved(SavedPass::Activation { f, len, x: x.kept() }))
    })
}

/// `dx = g f'(x)`.
pub(crate) fn activate_backward(
    d: &BackendDispatcher,
    (op, expected, f): (&'static str, &'static str, Activation),
    saved: &Saved,
    [x, g]: [Operand<'_>; 2],
    dx: &mut [f32],
) -> Result<()> {
    let (len, kept) = match &saved.pass {
        SavedPass::Activation { f: saved_f, len, x } if *saved_f == f => (*len, x),
        _ => return Err(saved.refused(op, expected)),
    };
    let plan = ElementwisePlan::new(&[len])?;
    exact(op, &[("x", len, x.len()), ("g", len, g.len()), ("dx", len, dx.len())])?;
    d.run_backward(op, saved, |target, is_own| {
        let (x, g) = (target.recall(kept, is_own, x, &d.counts)?, target.stage(g, &d.counts)?);
        let (mut room, layout) = (target.room(dx)?, *plan.layout());
        plan.activate_backward(&target.queue, f, x.at(layout)?, g.at(layout)?, room.at(layout)?)?;
        room.deliver(target)?;
        Ok(())
    })
}
