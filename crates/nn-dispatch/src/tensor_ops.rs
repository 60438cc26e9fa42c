//! The ops of [`TensorOpsAPI`] on a device.
//!
//! Each op checks lengths, stages its operands and delivers its results.

use std::sync::Arc;

use backend_api::{
    Buffer, Queue,
    ops::optim::{AdamStep, OptimOps},
};
use nn_ops::{
    Activation, CrossEntropyPlan, CrossEntropyResults, ElementwisePlan, Indices, Layout,
    LinearGradients as GradientRooms, LinearOperands, NnError, NormAffine, NormGradients, NormPlan, NormResults,
    NormSaved, TensorMut, TensorRef,
};
use runtime::AnyQueue;

use crate::{
    adam::{AdamState, Moments},
    api::TensorOpsAPI,
    args::{Affine, LayerNormGradients, LinearGradients, MatmulGradients, SoftmaxMask},
    dispatcher::BackendDispatcher,
    error::Result,
    handle::Operand,
    ops::{
        elements,
        lengths::{exact, exact_if},
        softmax,
    },
    plans::ProductPlan,
    product::Product,
    saved::{Saved, SavedPass},
    target::{OpenDevice, Room, Staged, deliver_all},
};

impl TensorOpsAPI for BackendDispatcher {
    fn matmul(&self, a: Operand<'_>, b: Operand<'_>, product: Product, c: &mut [f32]) -> Result<Saved> {
        const OP: &str = "matmul";
        let plan = self.plans.product(product)?;
        exact(OP, &[("a", plan.a.numel(), a.len()), ("b", plan.b.numel(), b.len()), ("c", plan.c.numel(), c.len())])?;
        self.run(|target| {
            let (a, b) = (target.stage(a, &self.counts)?, target.stage(b, &self.counts)?);
            multiply(target, &plan, [&a, &b], c)?.deliver(target)?;
            Ok(target.saved(SavedPass::Matmul { product, a: a.kept(), b: b.kept() }))
        })
    }

    fn matmul_backward(
        &self,
        saved: &Saved,
        a: Operand<'_>,
        b: Operand<'_>,
        g: Operand<'_>,
        gradients: MatmulGradients<'_>,
    ) -> Result<()> {
        const OP: &str = "matmul_backward";
        let SavedPass::Matmul { product, a: kept_a, b: kept_b } = &saved.pass else {
            return Err(saved.refused(OP, "matmul"));
        };
        // Lengths.
        let plan = self.plans.product(*product)?;
        let MatmulGradients { a: da, b: db } = gradients;
        exact(OP, &[("a", plan.a.numel(), a.len()), ("b", plan.b.numel(), b.len()), ("g", plan.c.numel(), g.len())])?;
        exact_if(OP, "da", plan.a.numel(), da.as_deref().map(<[f32]>::len))?;
        exact_if(OP, "db", plan.b.numel(), db.as_deref().map(<[f32]>::len))?;
        // Each gradient is a product of G and the other factor.
        let mut parts = [(da, kept_b, b, product.gradient_of_a()), (db, kept_a, a, product.gradient_of_b())];
        self.run_backward(OP, saved, |target, is_own| {
            let (g, mut rooms) = (target.stage(g, &self.counts)?, Vec::with_capacity(2));
            for (gradient, kept, other, (of_gradient, other_is_left)) in &mut parts {
                let Some(gradient) = gradient.as_deref_mut() else { continue };
                let other = target.recall(kept, is_own, *other, &self.counts)?;
                let factors = if *other_is_left { [&other, &g] } else { [&g, &other] };
                let plan = self.plans.product(*of_gradient)?;
                rooms.push(multiply(target, &plan, factors, gradient)?);
            }
            Ok(deliver_all(target, rooms)?)
        })
    }

    fn linear(
        &self,
        x: Operand<'_>,
        w: Operand<'_>,
        bias: Option<Operand<'_>>,
        shape: [usize; 3],
        y: &mut [f32],
    ) -> Result<Saved> {
        const OP: &str = "linear";
        let plan = self.plans.layer(shape)?;
        exact(OP, &[("x", plan.x.numel(), x.len()), ("w", plan.w.numel(), w.len())])?;
        exact_if(OP, "bias", plan.bias.numel(), bias.map(Operand::len))?;
        exact(OP, &[("y", plan.y.numel(), y.len())])?;
        self.run(|target| {
            let (x, w) = (target.stage(x, &self.counts)?, target.stage(w, &self.counts)?);
            let bias = bias.map(|bias| target.stage(bias, &self.counts)).transpose()?;
            let bias = bias.as_ref().map(|bias| bias.at(plan.bias)).transpose()?;
            let mut room = target.room(y)?;
            let operands = LinearOperands { x: x.at(plan.x)?, w: w.at(plan.w)?, bias };
            plan.forward.run(&target.queue, operands, room.at(plan.y)?)?;
            room.deliver(target)?;
            Ok(target.saved(SavedPass::Linear { shape, x: x.kept(), w: w.kept() }))
        })
    }

    fn linear_backward(
        &self,
        saved: &Saved,
        x: Operand<'_>,
        w: Operand<'_>,
        g: Operand<'_>,
        gradients: LinearGradients<'_>,
    ) -> Result<()> {
        const OP: &str = "linear_backward";
        let SavedPass::Linear { shape, x: kept_x, w: kept_w } = &saved.pass else {
            return Err(saved.refused(OP, "linear"));
        };
        // Lengths.
        let plan = self.plans.layer(*shape)?;
        let LinearGradients { x: mut dx, w: dw, bias: mut dbias } = gradients;
        exact(OP, &[("x", plan.x.numel(), x.len()), ("w", plan.w.numel(), w.len()), ("g", plan.y.numel(), g.len())])?;
        exact_if(OP, "dx", plan.x.numel(), dx.as_deref().map(<[f32]>::len))?;
        exact(OP, &[("dw", plan.w.numel(), dw.len())])?;
        exact_if(OP, "dbias", plan.bias.numel(), dbias.as_deref().map(<[f32]>::len))?;
        self.run_backward(OP, saved, |target, is_own| {
            // Operands and room.
            let x = target.recall(kept_x, is_own, x, &self.counts)?;
            let w = target.recall(kept_w, is_own, w, &self.counts)?;
            let g = target.stage(g, &self.counts)?;
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
            Ok(deliver_all(target, [of_x, Some(of_w), of_bias].into_iter().flatten())?)
        })
    }

    fn softmax(
        &self,
        x: Operand<'_>,
        shape: &[usize],
        dim: usize,
        mask: SoftmaxMask<'_>,
        y: &mut [f32],
    ) -> Result<Saved> {
        softmax::softmax(self, false, x, (shape, dim), mask, y)
    }

    fn softmax_backward(&self, saved: &Saved, y: Operand<'_>, g: Operand<'_>, dx: &mut [f32]) -> Result<()> {
        softmax::softmax_backward(self, false, saved, [y, g], dx)
    }

    fn log_softmax(
        &self,
        x: Operand<'_>,
        shape: &[usize],
        dim: usize,
        mask: SoftmaxMask<'_>,
        y: &mut [f32],
    ) -> Result<Saved> {
        softmax::softmax(self, true, x, (shape, dim), mask, y)
    }

    fn log_softmax_backward(&self, saved: &Saved, y: Operand<'_>, g: Operand<'_>, dx: &mut [f32]) -> Result<()> {
        softmax::softmax_backward(self, true, saved, [y, g], dx)
    }

    fn layer_norm(
        &self,
        x: Operand<'_>,
        affine: Affine<'_>,
        shape: [usize; 2],
        eps: f32,
        y: &mut [f32],
    ) -> Result<Saved> {
        const OP: &str = "layer_norm";
        let [rows, columns] = shape;
        let plan = NormPlan::new(&shape, eps)?;
        let layouts = [Layout::contiguous(&shape)?, Layout::contiguous(&[columns])?, Layout::contiguous(&[2, rows])?];
        let [of_rows, of_columns, of_stats] = layouts;
        exact(OP, &[("x", of_rows.numel(), x.len())])?;
        exact_if(OP, "gamma", columns, affine.gamma.map(Operand::len))?;
        exact_if(OP, "beta", columns, affine.beta.map(Operand::len))?;
        exact(OP, &[("y", of_rows.numel(), y.len())])?;
        self.run(|target| {
            // Operands and room.
            let x = target.stage(x, &self.counts)?;
            let gamma = affine.gamma.map(|gamma| target.stage(gamma, &self.counts)).transpose()?;
            let beta = affine.beta.map(|beta| target.stage(beta, &self.counts)).transpose()?;
            let (mut room, mut stats) = (target.room(y)?, plan.layer_stats(&target.queue)?);
            // The norm.
            let columns = NormAffine {
                gamma: gamma.as_ref().map(|gamma| gamma.at(of_columns)).transpose()?,
                beta: beta.as_ref().map(|beta| beta.at(of_columns)).transpose()?,
            };
            let results = NormResults { y: room.at(of_rows)?, stats: TensorMut::new(stats.view_mut(), of_stats)? };
            plan.layer_norm(&target.queue, x.at(of_rows)?, columns, results)?;
            room.deliver(target)?;
            // The operands of the backward pass.
            let (has_gamma, kept) = (gamma.is_some(), gamma.and_then(|gamma| gamma.kept()));
            let stats = Arc::new(stats);
            Ok(target.saved(SavedPass::LayerNorm { shape, eps, x: x.kept(), has_gamma, gamma: kept, stats }))
        })
    }

    fn layer_norm_backward(
        &self,
        saved: &Saved,
        x: Operand<'_>,
        gamma: Option<Operand<'_>>,
        g: Operand<'_>,
        gradients: LayerNormGradients<'_>,
    ) -> Result<()> {
        const OP: &str = "layer_norm_backward";
        let SavedPass::LayerNorm { shape, eps, x: kept_x, has_gamma, gamma: kept_gamma, stats } = &saved.pass else {
            return Err(saved.refused(OP, "layer_norm"));
        };
        let [rows, columns] = *shape;
        let plan = NormPlan::new(shape, *eps)?;
        let layouts = [Layout::contiguous(shape)?, Layout::contiguous(&[columns])?, Layout::contiguous(&[2, rows])?];
        let [of_rows, of_columns, of_stats] = layouts;
        let LayerNormGradients { x: dx, gamma: mut dgamma, beta: mut dbeta } = gradients;
        exact(OP, &[("x", of_rows.numel(), x.len()), ("g", of_rows.numel(), g.len())])?;
        exact(OP, &[("gamma", if *has_gamma { columns } else { 0 }, gamma.map_or(0, Operand::len))])?;
        exact(OP, &[("dx", of_rows.numel(), dx.len())])?;
        exact_if(OP, "dgamma", columns, dgamma.as_deref().map(<[f32]>::len))?;
        exact_if(OP, "dbeta", columns, dbeta.as_deref().map(<[f32]>::len))?;
        self.run_backward(OP, saved, |target, is_own| {
            // Operands and room.
            let (x, g) = (target.recall(kept_x, is_own, x, &self.counts)?, target.stage(g, &self.counts)?);
            let gamma = gamma.map(|gamma| target.recall(kept_gamma, is_own, gamma, &self.counts)).transpose()?;
            let stats = target.transferred(saved, stats, is_own)?;
            let mut of_x = target.room(dx)?;
            let mut of_gamma = dgamma.as_deref_mut().map(|dgamma| target.room(dgamma)).transpose()?;
            let mut of_beta = dbeta.as_deref_mut().map(|dbeta| target.room(dbeta)).transpose()?;
            // The gradients.
            let pass = NormSaved {
                x: x.at(of_rows)?,
                gamma: gamma.as_ref().map(|gamma| gamma.at(of_columns)).transpose()?,
                stats: TensorRef::new(stats.view(), of_stats)?,
            };
            let rooms = NormGradients {
                x: of_x.at(of_rows)?,
                gamma: of_gamma.as_mut().map(|room| room.at(of_columns)).transpose()?,
                beta: of_beta.as_mut().map(|room| room.at(of_columns)).transpose()?,
            };
            plan.layer_norm_backward(&target.queue, pass, g.at(of_rows)?, rooms)?;
            Ok(deliver_all(target, [Some(of_x), of_gamma, of_beta].into_iter().flatten())?)
        })
    }

    fn gelu(&self, x: Operand<'_>, y: &mut [f32]) -> Result<Saved> {
        elements::activate(self, ("gelu", Activation::GeluTanh), x, y)
    }

    fn gelu_backward(&self, saved: &Saved, x: Operand<'_>, g: Operand<'_>, dx: &mut [f32]) -> Result<()> {
        elements::activate_backward(self, ("gelu_backward", "gelu", Activation::GeluTanh), saved, [x, g], dx)
    }

    fn relu(&self, x: Operand<'_>, y: &mut [f32]) -> Result<Saved> {
        elements::activate(self, ("relu", Activation::Relu), x, y)
    }

    fn relu_backward(&self, saved: &Saved, x: Operand<'_>, g: Operand<'_>, dx: &mut [f32]) -> Result<()> {
        elements::activate_backward(self, ("relu_backward", "relu", Activation::Relu), saved, [x, g], dx)
    }

    fn embedding(&self, table: Operand<'_>, shape: [usize; 2], indices: &[u32], y: &mut [f32]) -> Result<Saved> {
        const OP: &str = "embedding";
        let [rows, width] = shape;
        let (of_table, of_rows) = (Layout::contiguous(&shape)?, Layout::contiguous(&[indices.len(), width])?);
        exact(OP, &[("table", of_table.numel(), table.len()), ("y", of_rows.numel(), y.len())])?;
        self.run(|target| {
            let placed = Indices::new(&target.queue, rows, indices)?;
            let table = target.stage(table, &self.counts)?;
            let mut room = target.room(y)?;
            placed.gather(&target.queue, table.at(of_table)?, room.at(of_rows)?)?;
            room.deliver(target)?;
            Ok(target.saved(SavedPass::Embedding { shape, indices: indices.to_vec(), placed }))
        })
    }

    fn embedding_backward(&self, saved: &Saved, g: Operand<'_>, dtable: &mut [f32]) -> Result<()> {
        const OP: &str = "embedding_backward";
        let SavedPass::Embedding { shape, indices, placed } = &saved.pass else {
            return Err(saved.refused(OP, "embedding"));
        };
        let [rows, width] = *shape;
        let (of_table, of_rows) = (Layout::contiguous(shape)?, Layout::contiguous(&[indices.len(), width])?);
        exact(OP, &[("g", of_rows.numel(), g.len()), ("dtable", of_table.numel(), dtable.len())])?;
        self.run_backward(OP, saved, |target, is_own| {
            let moved = if is_own { None } else { Some(Indices::new(&target.queue, rows, indices)?) };
            let g = target.stage(g, &self.counts)?;
            let mut room = target.filled_room(dtable)?;
            moved.as_ref().unwrap_or(placed).scatter_add(&target.queue, g.at(of_rows)?, room.at(of_table)?)?;
            room.deliver(target)?;
            Ok(())
        })
    }

    fn cross_entropy(&self, logits: Operand<'_>, targets: Operand<'_>, shape: [usize; 2]) -> Result<(f32, Saved)> {
        const OP: &str = "cross_entropy";
        let [rows, classes] = shape;
        let plan = CrossEntropyPlan::for_probs(rows, classes)?;
        if rows == 0 {
            return Err(NnError::EmptyReduction { op: OP }.into());
        }
        let (layout, of_losses) = (*plan.logits(), Layout::contiguous(&[rows])?);
        exact(OP, &[("logits", layout.numel(), logits.len()), ("targets", layout.numel(), targets.len())])?;
        self.run(|target| {
            let (x, t) = (target.stage(logits, &self.counts)?, target.stage(targets, &self.counts)?);
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
            let pass = SavedPass::CrossEntropy { len: layout.numel(), gradient: Arc::new(gradient) };
            Ok(((sum / rows as f64) as f32, target.saved(pass)))
        })
    }

    fn cross_entropy_backward(&self, saved: &Saved, g: f32, dlogits: &mut [f32]) -> Result<()> {
        const OP: &str = "cross_entropy_backward";
        let SavedPass::CrossEntropy { len, gradient } = &saved.pass else {
            return Err(saved.refused(OP, "cross_entropy"));
        };
        exact(OP, &[("dlogits", *len, dlogits.len())])?;
        let plan = ElementwisePlan::new(&[*len])?;
        self.run_backward(OP, saved, |target, is_own| {
            let gradient = target.transferred(saved, gradient, is_own)?;
            let (mut room, layout) = (target.room(dlogits)?, *plan.layout());
            plan.axpby(&target.queue, g, TensorRef::new(gradient.view(), layout)?, 0.0, room.at(layout)?)?;
            room.deliver(target)?;
            Ok(())
        })
    }

    fn sgd_step(&self, w: &mut [f32], g: Operand<'_>, rate: f32) -> Result<()> {
        const OP: &str = "sgd_step";
        exact(OP, &[("g", w.len(), g.len())])?;
        if !(rate.is_finite() && rate >= 0.0) {
            let (domain, value) = ("0 or more, and finite", f64::from(rate));
            return Err(NnError::Parameter { op: OP, name: "rate", domain, value }.into());
        }
        let plan = ElementwisePlan::new(&[w.len()])?;
        self.run(|target| {
            let g = target.stage(g, &self.counts)?;
            let (mut room, layout) = (target.filled_room(w)?, *plan.layout());
            plan.axpby(&target.queue, -rate, g.at(layout)?, 1.0, room.at(layout)?)?;
            room.deliver(target)?;
            Ok(())
        })
    }

    fn adam_step(&self, w: &mut [f32], g: Operand<'_>, state: &mut AdamState) -> Result<()> {
        const OP: &str = "adam_step";
        exact(OP, &[("g", state.len(), g.len()), ("w", state.len(), w.len())])?;
        let held = state.moments.as_ref().map(|held| held.tag);
        self.run_with(held, |target| {
            // Moments that no step has used are zeros, and are made anew on any device.
            if state.steps() == 0 && state.moments.as_ref().is_some_and(|held| held.tag != target.tag) {
                state.moments = None;
            }
            let (params, record) = (state.params(), state.next_record());
            let len = state.len();
            let Moments { m, v, .. } = moments_on(self, OP, target, len, &mut state.moments)?;
            let g = target.stage(g, &self.counts)?;
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
}

/// `c = x y` on a device; the result is not on the host yet.
fn multiply<'c>(
    target: &OpenDevice,
    plan: &ProductPlan,
    [x, y]: [&Staged<'_>; 2],
    c: &'c mut [f32],
) -> Result<Room<'c>> {
    let mut room = target.room(c)?;
    plan.plan.run(&target.queue, x.at(plan.a)?, y.at(plan.b)?, room.at(plan.c)?)?;
    Ok(room)
}

/// The moments on `target`: zeros at first, transferred from another device if allowed.
fn moments_on<'s>(
    d: &BackendDispatcher,
    op: &'static str,
    target: &OpenDevice,
    len: usize,
    moments: &'s mut Option<Moments>,
) -> Result<&'s mut Moments> {
    let (q, tag) = (&target.queue, target.tag);
    let held = match moments {
        Some(held) => held,
        None => return Ok(moments.insert(Moments { tag, queue: q.clone(), m: q.zeros(len)?, v: q.zeros(len)? })),
    };
    if !d.admit(op, held.tag, target)? {
        let (m, v) = (q.upload(&held.queue.download(&held.m)?)?, q.upload(&held.queue.download(&held.v)?)?);
        *held = Moments { tag, queue: q.clone(), m, v };
        d.counts.mixed.increment();
    }
    Ok(held)
}
