//! The operators that return their result, for every queue with the op sets.
//!
//! Each allocates the result and runs a plan, with packed operands where a plan needs them.

use std::collections::BTreeMap;

use backend_api::{Element, Queue, Real};

use super::{
    forms::{Attended, Functional, Normed, NormedSum, RowLosses},
    nested::Nested,
    readable::Readable,
    shapes::{attention_plan, layer, rows_and_columns, same_shape, with_columns},
};
use crate::{
    Activation, AttentionOps, Binary, ElementwiseOps, GemmOps, LossOps, Reduction, RowOps, StridedElement, TensorOps,
    attention::{AttentionGradients, AttentionInputs, AttentionOptions, AttentionSaved},
    elementwise::{
        DropoutSite, ElementwisePlan, Map, activate, activate_backward, axpby, binary, binary_scalar, fill, map,
        select, select_in_place,
    },
    error::{NnError, Result},
    io::weights::Tensors,
    movement::{Indices, Overflow, concat, copied, narrow, widen},
    products::{GemmPlan, LinearBackwardPlan, LinearGradients, LinearOperands, linear, matmul::product_shape},
    rows::{
        CrossEntropyPlan, CrossEntropyResults, Mask, NormAffine, NormGradients, NormPlan, NormResults, NormSaved,
        ReducePlan, SoftmaxPlan, arg_max,
    },
    tensor::{Operand, Tensor, TensorMut, TensorRef, broadcast_shape},
};

impl<Q: GemmOps + RowOps + AttentionOps + ElementwiseOps + LossOps + TensorOps> Functional for Q {
    fn tensor<N: Nested>(&self, values: N) -> Result<Tensor<Self, N::Element>> {
        let (mut shape, mut elements) = (Vec::new(), Vec::new());
        N::push_lengths(&mut shape);
        values.push_elements(&mut elements);
        Tensor::from_values(self, &shape, &elements)
    }

    fn named_tensors(&self, file: &Tensors) -> Result<BTreeMap<String, Tensor<Self, f32>>> {
        let mut named = BTreeMap::new();
        for (name, tensor) in file {
            let made = Tensor::from_values(self, &tensor.shape, &tensor.data);
            named.insert(name.clone(), made.map_err(|reason| NnError::named(name, reason))?);
        }
        Ok(named)
    }

    fn filled<T: Real>(&self, shape: &[usize], value: f32) -> Result<Tensor<Self, T>> {
        let mut y = Tensor::alloc(self, shape)?;
        fill(self, value, y.at_mut())?;
        Ok(y)
    }

    fn packed<T: StridedElement>(&self, x: &impl Operand<Self, T>) -> Result<Tensor<Self, T>> {
        copied(self, x.operand())
    }

    fn activate<T: Real>(&self, f: Activation, x: &impl Operand<Self, T>) -> Result<Tensor<Self, T>> {
        like(self, x.operand(), &|x, y| activate(self, f, x, y))
    }

    fn activate_backward<T: Real>(
        &self,
        f: Activation,
        saved: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
    ) -> Result<Tensor<Self, T>> {
        like(self, saved.operand(), &|saved, dx| activate_backward(self, f, saved, g.operand(), dx))
    }

    fn map<T: Real>(&self, f: Map, x: &impl Operand<Self, T>) -> Result<Tensor<Self, T>> {
        like(self, x.operand(), &|x, y| map(self, f, x, y))
    }

    fn binary<T: Real>(
        &self,
        op: Binary,
        a: &impl Operand<Self, T>,
        b: &impl Operand<Self, T>,
    ) -> Result<Tensor<Self, T>> {
        let (a, b) = (a.operand(), b.operand());
        let apart = || NnError::Broadcast { op: "binary", lhs: a.layout().into(), rhs: b.layout().into() };
        let shape = broadcast_shape(a.layout().shape(), b.layout().shape()).ok_or_else(apart)?;
        let mut y = Tensor::alloc(self, &shape)?;
        binary(self, op, a, b, y.at_mut())?;
        Ok(y)
    }

    fn binary_scalar<T: Real>(&self, op: Binary, x: &impl Operand<Self, T>, value: f32) -> Result<Tensor<Self, T>> {
        like(self, x.operand(), &|x, y| binary_scalar(self, op, x, value, y))
    }

    fn scaled<T: Real>(&self, x: &impl Operand<Self, T>, alpha: f32) -> Result<Tensor<Self, T>> {
        like(self, x.operand(), &|x, y| axpby(self, alpha, x, 0.0, y))
    }

    fn dropout<T: Real>(&self, x: &impl Operand<Self, T>, at: DropoutSite, step: u32) -> Result<Tensor<Self, T>> {
        like(self, x.operand(), &|x, y| at.dropout.apply(self, at.site, step, x, y))
    }

    fn dropout_in_place<T: Real>(&self, x: &mut Tensor<Self, T>, at: DropoutSite, step: u32) -> Result<()> {
        ElementwisePlan::new(x.layout().shape())?.dropout_in_place(self, at, step, x.at_mut())
    }

    fn select<T: Real>(
        &self,
        mask: &impl Operand<Self, bool>,
        a: &impl Operand<Self, T>,
        b: &impl Operand<Self, T>,
    ) -> Result<Tensor<Self, T>> {
        let (mask, a, b) = (mask.operand(), a.operand(), b.operand());
        let shape = mask.layout().shape();
        let (a, b) = (a.broadcast(shape)?, b.broadcast(shape)?);
        let mut y = room(self, a)?;
        select(self, mask, [a.shorten(), b.shorten()], y.at_mut())?;
        Ok(y)
    }

    fn select_in_place<T: Real>(
        &self,
        mask: &impl Operand<Self, bool>,
        a: &mut Tensor<Self, T>,
        b: &impl Operand<Self, T>,
    ) -> Result<()> {
        let (mask, b) = (mask.operand(), b.operand());
        select_in_place(self, mask, a.at_mut(), b.broadcast(mask.layout().shape())?)
    }

    fn masked_softmax<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<Tensor<Self, T>> {
        let x = x.operand();
        let plan = SoftmaxPlan::new(x.layout().shape(), axis)?;
        like(self, x, &|x, y| plan.softmax(self, x, mask.broadcast(x.layout().shape(), axis)?, y))
    }

    fn masked_softmax_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<()> {
        let shape = x.layout().shape();
        let (plan, mask) = (SoftmaxPlan::new(shape, axis)?, mask.broadcast(shape, axis)?);
        plan.softmax_in_place(self, x.at_mut(), mask)
    }

    fn masked_log_softmax<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<Tensor<Self, T>> {
        let x = x.operand();
        let plan = SoftmaxPlan::new(x.layout().shape(), axis)?;
        like(self, x, &|x, y| plan.log_softmax(self, x, mask.broadcast(x.layout().shape(), axis)?, y))
    }

    fn masked_log_softmax_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<()> {
        let shape = x.layout().shape();
        let (plan, mask) = (SoftmaxPlan::new(shape, axis)?, mask.broadcast(shape, axis)?);
        plan.log_softmax_in_place(self, x.at_mut(), mask)
    }

    fn softmax_backward<T: Real>(
        &self,
        y: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
        axis: usize,
    ) -> Result<Tensor<Self, T>> {
        let y = y.operand();
        let plan = SoftmaxPlan::new(y.layout().shape(), axis)?;
        like(self, y, &|y, dx| plan.softmax_backward(self, y, g.operand(), dx))
    }

    fn log_softmax_backward<T: Real>(
        &self,
        y: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
        axis: usize,
    ) -> Result<Tensor<Self, T>> {
        let y = y.operand();
        let plan = SoftmaxPlan::new(y.layout().shape(), axis)?;
        like(self, y, &|y, dx| plan.log_softmax_backward(self, y, g.operand(), dx))
    }

    fn layer_norm<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        beta: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<Normed<Self, T>> {
        let x = x.operand();
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let (mut y, mut stats) = (room(self, x)?, Tensor::alloc(self, &[2, rows])?);
        let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
        plan.layer_norm(self, x, affine(gamma, beta), results)?;
        Ok((y, stats))
    }

    fn layer_norm_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        beta: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<()> {
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let mut stats = Tensor::alloc(self, &[2, rows])?;
        plan.layer_norm_in_place(self, x.at_mut(), affine(gamma, beta), stats.at_mut())
    }

    fn add_layer_norm<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        r: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        beta: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<NormedSum<Self, T>> {
        let (x, r) = (x.operand(), r.operand());
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let (mut sum, mut y, mut stats) = (room(self, x)?, room(self, x)?, Tensor::alloc(self, &[2, rows])?);
        let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
        plan.add_layer_norm(self, [x.shorten(), r.shorten()], affine(gamma, beta), sum.at_mut(), results)?;
        Ok((sum, y, stats))
    }

    fn layer_norm_backward<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        stats: &impl Operand<Self, f32>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 3]> {
        let x = x.operand();
        let plan = NormPlan::new(x.layout().shape(), 0.0)?; // the statistics include eps
        let (_, columns) = rows_and_columns(x.layout());
        let (mut dx, mut dgamma) = (room(self, x)?, Tensor::alloc(self, &[columns])?);
        let mut dbeta = Tensor::alloc(self, &[columns])?;
        let gradients = NormGradients { x: dx.at_mut(), gamma: Some(dgamma.at_mut()), beta: Some(dbeta.at_mut()) };
        plan.layer_norm_backward(self, saved(x, gamma, stats.operand()), g.operand(), gradients)?;
        Ok([dx, dgamma, dbeta])
    }

    fn rms_norm<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<Normed<Self, T>> {
        let x = x.operand();
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let (mut y, mut stats) = (room(self, x)?, Tensor::alloc(self, &[rows])?);
        plan.rms_norm(self, x, gamma, NormResults { y: y.at_mut(), stats: stats.at_mut() })?;
        Ok((y, stats))
    }

    fn rms_norm_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<()> {
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let mut stats = Tensor::alloc(self, &[rows])?;
        plan.rms_norm_in_place(self, x.at_mut(), gamma, stats.at_mut())
    }

    fn rms_norm_backward<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        stats: &impl Operand<Self, f32>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 2]> {
        let x = x.operand();
        let plan = NormPlan::new(x.layout().shape(), 0.0)?; // the statistics include eps
        let (_, columns) = rows_and_columns(x.layout());
        let (mut dx, mut dgamma) = (room(self, x)?, Tensor::alloc(self, &[columns])?);
        let saved = saved(x, gamma, stats.operand());
        plan.rms_norm_backward(self, saved, g.operand(), dx.at_mut(), Some(dgamma.at_mut()))?;
        Ok([dx, dgamma])
    }

    fn reduce<T: Real>(
        &self,
        reduction: Reduction,
        x: &impl Operand<Self, T>,
        axes: &[usize],
    ) -> Result<Tensor<Self, T>> {
        let x = x.operand();
        let plan = ReducePlan::new(x.layout().shape(), axes, reduction)?;
        let mut y = Tensor::alloc(self, plan.layout().shape())?;
        plan.run(self, x, y.at_mut())?;
        Ok(y)
    }

    fn arg_max<T: Real>(&self, x: &impl Operand<Self, T>, axis: usize) -> Result<Tensor<Self, u32>> {
        let x = x.operand();
        let mut shape = x.layout().shape().to_vec();
        if axis >= shape.len() {
            return Err(NnError::Axis { op: "arg_max", rank: shape.len(), axis });
        }
        shape.remove(axis);
        let mut y = Tensor::alloc(self, &shape)?;
        arg_max(self, x, axis, y.at_mut())?;
        Ok(y)
    }

    fn cross_entropy<T: Real>(
        &self,
        logits: &impl Operand<Self, T>,
        targets: &impl Operand<Self, u32>,
        scale: f32,
    ) -> Result<RowLosses<Self, T>> {
        let logits = logits.operand();
        let [rows, classes] = logits.layout().lengths("cross_entropy", "logits")?;
        let plan = CrossEntropyPlan::new(rows, classes)?;
        let (mut losses, mut dlogits) = (Tensor::alloc(self, &[rows])?, room(self, logits)?);
        let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: dlogits.at_mut() };
        plan.cross_entropy(self, scale, logits, targets.operand(), results)?;
        Ok((losses, dlogits))
    }

    fn cross_entropy_probs<T: Real>(
        &self,
        logits: &impl Operand<Self, T>,
        probs: &impl Operand<Self, T>,
        scale: f32,
    ) -> Result<RowLosses<Self, T>> {
        let logits = logits.operand();
        let [rows, classes] = logits.layout().lengths("cross_entropy_probs", "logits")?;
        let plan = CrossEntropyPlan::for_probs(rows, classes)?;
        let (mut losses, mut dlogits) = (Tensor::alloc(self, &[rows])?, room(self, logits)?);
        let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: dlogits.at_mut() };
        plan.cross_entropy_probs(self, scale, logits, probs.operand(), results)?;
        Ok((losses, dlogits))
    }

    fn matmul_scaled<T: Real>(
        &self,
        a: &impl Operand<Self, T>,
        b: &impl Operand<Self, T>,
        alpha: f32,
    ) -> Result<Tensor<Self, T>> {
        let (a, b) = (a.operand(), b.operand());
        let mut c = Tensor::alloc(self, &product_shape("matmul", a.layout(), ("b", b.layout()))?)?;
        let (a, b) = (Readable::factor(self, a)?, Readable::factor(self, b)?);
        let plan = GemmPlan::new(a.layout(), b.layout(), c.layout())?.with_alpha(alpha);
        plan.run(self, a.at(), b.at(), c.at_mut())?;
        Ok(c)
    }

    fn linear<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        w: &impl Operand<Self, T>,
        bias: Option<TensorRef<'_, Self, T>>,
        f: Activation,
    ) -> Result<Tensor<Self, T>> {
        const OP: &str = "linear";
        let (x, w) = (x.operand(), w.operand());
        let [rows, inner, columns] = layer(OP, x.layout(), w.layout())?;
        let shape = with_columns(x.layout(), columns);
        bias.map(|bias| same_shape(OP, "bias", &[columns], bias.layout())).transpose()?;
        let (x, w) = (Readable::matrix(self, x, [rows, inner])?, Readable::factor(self, w)?);
        let (bias, mut y) = (Readable::of_some(self, bias)?, Tensor::alloc(self, &[rows, columns])?);
        let operands = LinearOperands { x: x.at(), w: w.at(), bias: bias.as_ref().map(Readable::at) };
        linear(self, operands, f, y.at_mut())?;
        y.into_shape(&shape)
    }

    fn linear_backward<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        w: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 3]> {
        const OP: &str = "linear_backward";
        let (of_x, w, g) = (x.operand(), w.operand(), g.operand());
        let [rows, inner, columns] = layer(OP, of_x.layout(), w.layout())?;
        same_shape(OP, "g", &with_columns(of_x.layout(), columns), g.layout())?;
        let (x, w) = (Readable::matrix(self, of_x, [rows, inner])?, Readable::factor(self, w)?);
        let d = Readable::of(self, g)?;
        let (mut dx, mut dw) = (Tensor::alloc(self, &[rows, inner])?, Tensor::alloc(self, &[inner, columns])?);
        let mut db = Tensor::alloc(self, &[columns])?;
        let gradients = LinearGradients { x: Some(dx.at_mut()), w: dw.at_mut(), bias: Some(db.at_mut()) };
        let plan = LinearBackwardPlan::new(x.layout(), w.layout())?;
        plan.run(self, x.at(), w.at(), d.at().reshaped(&[rows, columns])?, gradients)?;
        Ok([dx.into_shape(of_x.layout().shape())?, dw, db])
    }

    fn attention<T: Real>(
        &self,
        q: &impl Operand<Self, T>,
        k: &impl Operand<Self, T>,
        v: &impl Operand<Self, T>,
        options: AttentionOptions,
    ) -> Result<Attended<Self, T>> {
        let (q, k, v) = (q.operand(), k.operand(), v.operand());
        let plan = attention_plan("attention", [q.layout(), k.layout(), v.layout()], options)?;
        let (q, k, v) = (Readable::rows(self, q)?, Readable::rows(self, k)?, Readable::rows(self, v)?);
        let (mut y, mut lse) = (room(self, q.at())?, plan.lse(self)?);
        let inputs = AttentionInputs::new(q.at(), k.at(), v.at());
        plan.forward(self, inputs, y.at_mut(), Some(lse.at_mut()))?;
        Ok((y, lse))
    }

    fn attention_backward<T: Real>(
        &self,
        q: &impl Operand<Self, T>,
        k: &impl Operand<Self, T>,
        v: &impl Operand<Self, T>,
        options: AttentionOptions,
        (y, lse): &Attended<Self, T>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 3]> {
        const OP: &str = "attention_backward";
        let (q, k, v, g) = (q.operand(), k.operand(), v.operand(), g.operand());
        let plan = attention_plan(OP, [q.layout(), k.layout(), v.layout()], options)?;
        same_shape(OP, "y", q.layout().shape(), y.layout())?;
        same_shape(OP, "lse", plan.lse_layout().shape(), lse.layout())?;
        same_shape(OP, "g", q.layout().shape(), g.layout())?;
        // Gradients are row-major, and have the strides of their operands.
        let (q, k, v) = (Readable::of(self, q)?, Readable::of(self, k)?, Readable::of(self, v)?);
        let g = Readable::of(self, g)?;
        let (mut dq, mut dk, mut dv) = (room(self, q.at())?, room(self, k.at())?, room(self, v.at())?);
        let inputs = AttentionInputs::new(q.at(), k.at(), v.at());
        let saved = AttentionSaved { y: y.at(), lse: lse.at() };
        let gradients = AttentionGradients { q: dq.at_mut(), k: dk.at_mut(), v: dv.at_mut() };
        plan.backward(self, inputs, saved, g.at(), gradients)?;
        Ok([dq, dk, dv])
    }

    fn gather<T: Real>(&self, table: &impl Operand<Self, T>, indices: &[u32]) -> Result<Tensor<Self, T>> {
        let table = table.operand();
        let Some((&rows, row)) = table.layout().shape().split_first() else {
            return Err(NnError::TooFewAxes { op: "gather", min: 1, got: 0 });
        };
        let mut y = Tensor::alloc(self, &[&[indices.len()], row].concat())?;
        let indices = Indices::new(self, rows, indices)?;
        indices.gather(self, table, y.at_mut())?;
        Ok(y)
    }

    fn concat<T: StridedElement>(&self, axis: usize, parts: &[TensorRef<'_, Self, T>]) -> Result<Tensor<Self, T>> {
        let mut shape = parts.first().map_or(Vec::new(), |part| part.layout().shape().to_vec());
        let lengths = parts.iter().filter_map(|part| part.layout().shape().get(axis));
        if let Some(len) = shape.get_mut(axis) {
            *len = lengths.fold(0, |sum: usize, &len| sum.saturating_add(len));
        }
        let mut y = Tensor::alloc(self, &shape)?;
        concat(self, axis, parts, y.buffer_mut())?;
        Ok(y)
    }

    fn widen<T: Real>(&self, x: &impl Operand<Self, T>) -> Result<Tensor<Self, f32>> {
        like(self, x.operand(), &|x, y| widen(self, x, y))
    }

    fn narrow<T: Real>(&self, x: &impl Operand<Self, f32>, overflow: Overflow) -> Result<Tensor<Self, T>> {
        like(self, x.operand(), &|x, y| narrow(self, overflow, x, y))
    }
}

/// An operator from its operand to its result.
type Write<'a, Q, T, U> = dyn Fn(TensorRef<'_, Q, T>, TensorMut<'_, Q, U>) -> Result<()> + 'a;

/// A new tensor of the shape of x, which `write` fills from x.
fn like<Q: Queue, T: Element, U: Element>(
    q: &Q,
    x: TensorRef<'_, Q, T>,
    write: &Write<'_, Q, T, U>,
) -> Result<Tensor<Q, U>> {
    let mut y = Tensor::alloc(q, x.layout().shape())?;
    write(x, y.at_mut())?;
    Ok(y)
}

/// Room for a result of the shape of x.
fn room<Q: Queue, T: Element>(q: &Q, x: TensorRef<'_, Q, T>) -> Result<Tensor<Q, T>> {
    Tensor::alloc(q, x.layout().shape())
}

/// Factors and addends of different lifetimes.
fn affine<'s, 'g: 's, 'b: 's, Q: RowOps + 's + 'g + 'b, T: Real>(
    gamma: Option<TensorRef<'g, Q, T>>,
    beta: Option<TensorRef<'b, Q, T>>,
) -> NormAffine<'s, Q, T> {
    NormAffine { gamma: gamma.map(|gamma| gamma.shorten()), beta: beta.map(|beta| beta.shorten()) }
}

/// Values of a forward pass of different lifetimes.
fn saved<'s, 'x: 's, 'g: 's, 'f: 's, Q: RowOps + 's + 'x + 'g + 'f, T: Real>(
    x: TensorRef<'x, Q, T>,
    gamma: Option<TensorRef<'g, Q, T>>,
    stats: TensorRef<'f, Q, f32>,
) -> NormSaved<'s, Q, T> {
    NormSaved { x: x.shorten(), gamma: gamma.map(|gamma| gamma.shorten()), stats: stats.shorten() }
}
