//! Matrix products and linear layers.

use nn_ops::{LinearGradients as GradientRooms, LinearOperands};

use super::lengths::{exact, exact_if};
use crate::{
    args::{LinearGradients, MatmulGradients},
    dispatcher::BackendDispatcher,
    error::DispatchError,
    handle::Operand,
    plans::ProductPlan,
    product::Product,
    saved::{Pass, Saved},
    target::{Staged, Target},
};

pub(crate) fn matmul(
    d: &BackendDispatcher,
    a: Operand<'_>,
    b: Operand<'_>,
    product: Product,
    c: &mut [f32],
) -> Result<Saved, DispatchError> {
    const OP: &str = "matmul";
    let plan = d.plans.product(product)?;
    exact(OP, "a", plan.a.numel(), a.values().len())?;
    exact(OP, "b", plan.b.numel(), b.values().len())?;
    exact(OP, "c", plan.c.numel(), c.len())?;
    d.run(|target| {
        let (a, b) = (target.stage(a, &d.counts)?, target.stage(b, &d.counts)?);
        multiply(target, &plan, [&a, &b], c)?;
        Ok(target.saved(Pass::Matmul { product, a: a.kept(), b: b.kept() }))
    })
}

pub(crate) fn matmul_backward(
    d: &BackendDispatcher,
    saved: &Saved,
    [a, b, g]: [Operand<'_>; 3],
    gradients: MatmulGradients<'_>,
) -> Result<(), DispatchError> {
    const OP: &str = "matmul_backward";
    let Pass::Matmul { product, a: kept_a, b: kept_b } = &saved.pass else {
        return Err(saved.refused(OP, "matmul"));
    };
    // Lengths.
    let plan = d.plans.product(*product)?;
    let MatmulGradients { a: mut da, b: mut db } = gradients;
    exact(OP, "a", plan.a.numel(), a.values().len())?;
    exact(OP, "b", plan.b.numel(), b.values().len())?;
    exact(OP, "g", plan.c.numel(), g.values().len())?;
    exact_if(OP, "da", plan.a.numel(), da.as_deref().map(<[f32]>::len))?;
    exact_if(OP, "db", plan.b.numel(), db.as_deref().map(<[f32]>::len))?;
    // Each gradient is a product of G and the other factor.
    d.run_backward(OP, saved, |target, is_own| {
        let g = target.stage(g, &d.counts)?;
        if let Some(da) = da.as_deref_mut() {
            let b = target.recall(kept_b, is_own, b, &d.counts)?;
            let (gradient, b_is_left) = product.gradient_of_a();
            let factors = if b_is_left { [&b, &g] } else { [&g, &b] };
            let plan = d.plans.product(gradient)?;
            multiply(target, &plan, factors, da)?;
        }
        if let Some(db) = db.as_deref_mut() {
            let a = target.recall(kept_a, is_own, a, &d.counts)?;
            let (gradient, a_is_left) = product.gradient_of_b();
            let factors = if a_is_left { [&a, &g] } else { [&g, &a] };
            let plan = d.plans.product(gradient)?;
            multiply(target, &plan, factors, db)?;
        }
        Ok(())
    })
}

/// `c = x y` on a device.
fn multiply(target: &Target, plan: &ProductPlan, [x, y]: [&Staged<'_>; 2], c: &mut [f32]) -> Result<(), DispatchError> {
    let mut room = target.room(c)?;
    plan.plan.run(&target.queue, x.at(plan.a)?, y.at(plan.b)?, room.at(plan.c)?)?;
    room.deliver(target)?;
    Ok(())
}

pub(crate) fn linear(
    d: &BackendDispatcher,
    [x, w]: [Operand<'_>; 2],
    bias: Option<Operand<'_>>,
    shape: [usize; 3],
    y: &mut [f32],
) -> Result<Saved, DispatchError> {
    const OP: &str = "linear";
    let plan = d.plans.layer(shape)?;
    exact(OP, "x", plan.x.numel(), x.values().len())?;
    exact(OP, "w", plan.w.numel(), w.values().len())?;
    exact_if(OP, "bias", plan.bias.numel(), bias.map(|bias| bias.values().len()))?;
    exact(OP, "y", plan.y.numel(), y.len())?;
    d.run(|target| {
        let (x, w) = (target.stage(x, &d.counts)?, target.stage(w, &d.counts)?);
        let bias = bias.map(|bias| target.stage(bias, &d.counts)).transpose()?;
        let bias = bias.as_ref().map(|bias| bias.at(plan.bias)).transpose()?;
        let mut room = target.room(y)?;
        let operands = LinearOperands { x: x.at(plan.x)?, w: w.at(plan.w)?, bias };
        plan.forward.run(&target.queue, operands, room.at(plan.y)?)?;
        room.deliver(target)?;
        Ok(target.saved(Pass::Linear { shape, x: x.kept(), w: w.kept() }))
    })
}

pub(crate) fn linear_backward(
    d: &BackendDispatcher,
    saved: &Saved,
    [x, w, g]: [Operand<'_>; 3],
    gradients: LinearGradients<'_>,
) -> Result<(), DispatchError> {
    const OP: &str = "linear_backward";
    let Pass::Linear { shape, x: kept_x, w: kept_w } = &saved.pass else {
        return Err(saved.refused(OP, "linear"));
    };
    // Lengths.
    let plan = d.plans.layer(*shape)?;
    let LinearGradients { x: mut dx, w: dw, bias: mut dbias } = gradients;
    exact(OP, "x", plan.x.numel(), x.values().len())?;
    exact(OP, "w", plan.w.numel(), w.values().len())?;
    exact(OP, "g", plan.y.numel(), g.values().len())?;
    exact_if(OP, "dx", plan.x.numel(), dx.as_deref().map(<[f32]>::len))?;
    exact(OP, "dw", plan.w.numel(), dw.len())?;
    exact_if(OP, "dbias", plan.bias.numel(), dbias.as_deref().map(<[f32]>::len))?;
    d.run_backward(OP, saved, |target, is_own| {
        // Operands and room.
        let x = target.recall(kept_x, is_own, x, &d.counts)?;
        let w = target.recall(kept_w, is_own, w, &d.counts)?;
        let g = target.stage(g, &d.counts)?;
        let mut of_x = dx.as_deref_mut().map(|dx| target.room(dx)).transpose()?;
        let mut of_w = target.room(dw)?;
        let mut of_bias = dbias.as_deref_mut().map(|dbias| target.room(dbias)).transpose()?;
        // The gradients.
        let rooms = GradientRooms {
            x: of_x.as_mut().map(|room| room.at(plan.x)).transpose()?,
            w: of_w.at(plan.w)?,
            bias: of_bias.as_mut().map(|room| room.at(plan.bias)).transpose()?,
        };
        plan.backward.run(&target.queue, x.at(plan.x)?, w.at(plan.w)?, g.at(plan.y)?, rooms)?;
        of_x.map(|room| room.deliver(target)).transpose()?;
        of_w.deliver(target)?;
        of_bias.map(|room| room.deliver(target)).transpose()?;
        Ok(())
    })
}
