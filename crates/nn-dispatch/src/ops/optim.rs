//! Steps of optimisers.

use backend_api::{
    Buffer, Queue,
    ops::optim::{AdamStep, OptimOps},
};
use nn_ops::{ElementwisePlan, NnError};
use runtime::AnyQueue;

use super::lengths::exact;
use crate::{
    adam::{AdamState, Moments},
    dispatcher::BackendDispatcher,
    error::DispatchError,
    handle::Operand,
    target::Target,
};

pub(crate) fn sgd_step(d: &BackendDispatcher, w: &mut [f32], g: Operand<'_>, rate: f32) -> Result<(), DispatchError> {
    const OP: &str = "sgd_step";
    exact(OP, "g", w.len(), g.values().len())?;
    if !(rate.is_finite() && rate >= 0.0) {
        let (domain, value) = ("0 or more, and finite", f64::from(rate));
        return Err(NnError::Parameter { op: OP, name: "rate", domain, value }.into());
    }
    let plan = ElementwisePlan::new(&[w.len()])?;
    d.run(|target| {
        let g = target.stage(g, &d.counts)?;
        let (mut room, layout) = (target.filled_room(w)?, *plan.layout());
        plan.axpby(&target.queue, -rate, g.at(layout)?, 1.0, room.at(layout)?)?;
        room.deliver(target)?;
        Ok(())
    })
}

pub(crate) fn adam_step(
    d: &BackendDispatcher,
    w: &mut [f32],
    g: Operand<'_>,
    state: &mut AdamState,
) -> Result<(), DispatchError> {
    const OP: &str = "adam_step";
    exact(OP, "g", state.len(), g.values().len())?;
    exact(OP, "w", state.len(), w.len())?;
    let held = state.moments.as_ref().map(|held| held.tag);
    d.run_with(held, |target| {
        // Moments that no step has used are zeros, and are made anew on any device.
        if state.steps() == 0 && state.moments.as_ref().is_some_and(|held| held.tag != target.tag) {
            state.moments = None;
        }
        let (params, record) = (state.params(), state.next_record());
        let len = state.len();
        let Moments { m, v, .. } = moments_on(d, OP, target, len, &mut state.moments)?;
        let g = target.stage(g, &d.counts)?;
        let (mut room, on_device) = (target.filled_room(w)?, target.queue.upload(&[record])?);
        target.queue.adam_step(AdamStep::<AnyQueue, f32> {
            params: &params,
            state: on_device.view(),
            g: Some(g.view()),
            wide: None,
            m: m.view_mut(),
            v: v.view_mut(),
            w: room.view(),
            copy: None,
        })?;
        // The step counts from here on: the moments have taken it.
        state.record = record;
        room.deliver(target)?;
        Ok(())
    })
}

/// The moments on `target`: zeros at first, transferred from another device if allowed.
fn moments_on<'s>(
    d: &BackendDispatcher,
    op: &'static str,
    target: &Target,
    len: usize,
    moments: &'s mut Option<Moments>,
) -> Result<&'s mut Moments, DispatchError> {
    let (q, tag) = (&target.queue, target.tag);
    let held = match moments {
        Some(held) => held,
        None => return Ok(moments.insert(Moments { tag, queue: q.clone(), m: q.zeros(len)?, v: q.zeros(len)? })),
    };
    if !d.admit(op, held.tag, target)? {
        let (m, v) = (q.upload(&held.queue.download(&held.m)?)?, q.upload(&held.queue.download(&held.v)?)?);
        *held = Moments { tag, queue: q.clone(), m, v };
        d.counts.mixed();
    }
    Ok(held)
}
