//! The operators that return their result, for every queue with the op sets.
//!
//! Each packs its operands where the op needs it, allocates the result, and runs the op.

use std::collections::BTreeMap;

use backend_api::{
    Real,
    ops::{
        linalg::{AttentionOps, ElementwiseOps, GemmOps, LossOps, RowOps},
        tensor::{StridedElement, TensorOps},
    },
};
use core_types::params::{
    elementwise::{Activation, Binary},
    tensor::Reduction,
};

use super::{
    forms::{Attended, Functional, Normed, NormedSum, RowLosses},
    nested::Nested,
    packed::{Packed, PackedMask, copied},
    shapes::{attention_plan, layer, matrix, rows_and_columns, with_columns},
};
use crate::{
    attention::{AttentionGradients, AttentionInputs, AttentionOptions, AttentionSaved},
    elementwise::{
        DropoutSite, ElementwisePlan, Map, activate, activate_backward, axpby, binary, binary_scalar, fill, map,
        select, select_in_place,
    },
    error::NnError,
    io::weights::Tensors,
    movement::{Indices, Overflow, concat, narrow, widen},
    products::{
        LinearBackwardPlan, LinearGradients, LinearOperands, linear,
        matmul::{GemmPlan, product_shape},
    },
    rows::{
        CrossEntropyPlan, CrossEntropyResults, Mask, NormAffine, NormGradients, NormPlan, NormResults, NormSaved,
        ReducePlan, SoftmaxPlan, arg_max,
    },
    tensor::{layout::broadcast_shape, operand::Operand, owned::Tensor, views::TensorRef},
};

impl<Q: GemmOps + RowOps + AttentionOps + ElementwiseOps + LossOps + TensorOps> Functional for Q {
    fn tensor<N: Nested>(&self, values: N) -> Result<Tensor<Self, N::Element>, NnError> {
        let (mut shape, mut elements) = (Vec::new(), Vec::new());
        N::push_lengths(&mut shape);
        values.push_elements(&mut elements);
        Tensor::from_values(self, &shape, &elements)
    }

    fn named_tensors(&self, file: &Tensors) -> Result<BTreeMap<String, Tensor<Self, f32>>, NnError> {
        let mut named = BTreeMap::new();
        for (name, tensor) in file {
            let made = Tensor::from_values(self, &tensor.shape, &tensor.data);
            named.insert(name.clone(), made.map_err(|reason| NnError::named(name, reason))?);
        }
        Ok(named)
    }

    fn filled<T: Real>(&self, shape: &[usize], value: f32) -> Result<Tensor<Self, T>, NnError> {
        let mut y = Tensor::alloc(self, shape)?;
        fill(self, value, y.at_mut())?;
        Ok(y)
    }

    fn packed<T: StridedElement>(&self, x: &impl Operand<Self, T>) -> Result<Tensor<Self, T>, NnError> {
        copied(self, x.operand())
    }

    fn activate<T: Real>(&self, f: Activation, x: &impl Operand<Self, T>) -> Result<Tensor<Self, T>, NnError> {
        let x = Packed::of(self, x.operand())?;
        let mut y = x.room(self)?;
        activate(self, f, x.at(), y.at_mut())?;
        Ok(y)
    }

    fn activate_backward<T: Real>(
        &self,
        f: Activation,
        saved: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
    ) -> Result<Tensor<Self, T>, NnError> {
        let (saved, g) = (Packed::of(self, saved.operand())?, Packed::of(self, g.operand())?);
        let mut dx = saved.room(self)?;
        activate_backward(self, f, saved.at(), g.at(), dx.at_mut())?;
        Ok(dx)
    }

    fn map<T: Real>(&self, f: Map, x: &impl Operand<Self, T>) -> Result<Tensor<Self, T>, NnError> {
        let x = Packed::of(self, x.operand())?;
        let mut y = x.room(self)?;
        map(self, f, x.at(), y.at_mut())?;
        Ok(y)
    }

    fn binary<T: Real>(
        &self,
        op: Binary,
        a: &impl Operand<Self, T>,
        b: &impl Operand<Self, T>,
    ) -> Result<Tensor<Self, T>, NnError> {
        let (a, b) = (a.operand(), b.operand());
        let apart = || NnError::Broadcast { op: "binary", lhs: a.layout().into(), rhs: b.layout().into() };
        let shape = broadcast_shape(a.layout().shape(), b.layout().shape()).ok_or_else(apart)?;
        let mut y = Tensor::alloc(self, &shape)?;
        binary(self, op, a, b, y.at_mut())?;
        Ok(y)
    }

    fn binary_scalar<T: Real>(
        &self,
        op: Binary,
        x: &impl Operand<Self, T>,
        value: f32,
    ) -> Result<Tensor<Self, T>, NnError> {
        let x = x.operand();
        let mut y = Tensor::alloc(self, x.layout().shape())?;
        binary_scalar(self, op, x, value, y.at_mut())?;
        Ok(y)
    }

    fn scaled<T: Real>(&self, x: &impl Operand<Self, T>, alpha: f32) -> Result<Tensor<Self, T>, NnError> {
        let x = Packed::of(self, x.operand())?;
        let mut y = x.room(self)?;
        axpby(self, alpha, x.at(), 0.0, y.at_mut())?;
        Ok(y)
    }

    fn dropout<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        at: DropoutSite,
        step: u32,
    ) -> Result<Tensor<Self, T>, NnError> {
        let x = Packed::of(self, x.operand())?;
        let mut y = x.room(self)?;
        ElementwisePlan::new(x.layout().shape())?.dropout(self, at, step, x.at(), y.at_mut())?;
        Ok(y)
    }

    fn dropout_in_place<T: Real>(&self, x: &mut Tensor<Self, T>, at: DropoutSite, step: u32) -> Result<(), NnError> {
        ElementwisePlan::new(x.layout().shape())?.dropout_in_place(self, at, step, x.at_mut())
    }

    fn select<T: Real>(
        &self,
        mask: &impl Operand<Self, bool>,
        a: &impl Operand<Self, T>,
        b: &impl Operand<Self, T>,
    ) -> Result<Tensor<Self, T>, NnError> {
        let mask = Packed::of(self, mask.operand())?;
        let shape = mask.layout().shape();
        let a = Packed::of(self, a.operand().broadcast(shape)?)?;
        let b = Packed::of(self, b.operand().broadcast(shape)?)?;
        let mut y = a.room(self)?;
        select(self, mask.at(), [a.at(), b.at()], y.at_mut())?;
        Ok(y)
    }

    fn select_in_place<T: Real>(
        &self,
        mask: &impl Operand<Self, bool>,
        a: &mut Tensor<Self, T>,
        b: &impl Operand<Self, T>,
    ) -> Result<(), NnError> {
        let mask = Packed::of(self, mask.operand())?;
        let b = Packed::of(self, b.operand().broadcast(mask.layout().shape())?)?;
        select_in_place(self, mask.at(), a.at_mut(), b.at())
    }

    fn masked_softmax<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<Tensor<Self, T>, NnError> {
        let x = x.operand();
        let plan = SoftmaxPlan::new(x.layout().shape(), axis)?;
        let (x, mask) = (Packed::of(self, x)?, PackedMask::of(self, mask, x.layout().shape(), axis)?);
        let mut y = x.room(self)?;
        plan.softmax(self, x.at(), mask.at(), y.at_mut())?;
        Ok(y)
    }

    fn masked_softmax_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<(), NnError> {
        let shape = x.layout().shape();
        let (plan, mask) = (SoftmaxPlan::new(shape, axis)?, PackedMask::of(self, mask, shape, axis)?);
        plan.softmax_in_place(self, x.at_mut(), mask.at())
    }

    fn masked_log_softmax<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<Tensor<Self, T>, NnError> {
        let x = x.operand();
        let plan = SoftmaxPlan::new(x.layout().shape(), axis)?;
        let (x, mask) = (Packed::of(self, x)?, PackedMask::of(self, mask, x.layout().shape(), axis)?);
        let mut y = x.room(self)?;
        plan.log_softmax(self, x.at(), mask.at(), y.at_mut())?;
        Ok(y)
    }

    fn masked_log_softmax_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        axis: usize,
        mask: Mask<'_, Self>,
    ) -> Result<(), NnError> {
        let shape = x.layout().shape();
        let (plan, mask) = (SoftmaxPlan::new(shape, axis)?, PackedMask::of(self, mask, shape, axis)?);
        plan.log_softmax_in_place(self, x.at_mut(), mask.at())
    }

    fn softmax_backward<T: Real>(
        &self,
        y: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
        axis: usize,
    ) -> Result<Tensor<Self, T>, NnError> {
        let (y, g) = (y.operand(), g.operand());
        let plan = SoftmaxPlan::new(y.layout().shape(), axis)?;
        let (y, g) = (Packed::of(self, y)?, Packed::of(self, g)?);
        let mut dx = y.room(self)?;
        plan.softmax_backward(self, y.at(), g.at(), dx.at_mut())?;
        Ok(dx)
    }

    fn log_softmax_backward<T: Real>(
        &self,
        y: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
        axis: usize,
    ) -> Result<Tensor<Self, T>, NnError> {
        let (y, g) = (y.operand(), g.operand());
        let plan = SoftmaxPlan::new(y.layout().shape(), axis)?;
        let (y, g) = (Packed::of(self, y)?, Packed::of(self, g)?);
        let mut dx = y.room(self)?;
        plan.log_softmax_backward(self, y.at(), g.at(), dx.at_mut())?;
        Ok(dx)
    }

    fn layer_norm<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        beta: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<Normed<Self, T>, NnError> {
        let x = x.operand();
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let (x, gamma, beta) = (Packed::of(self, x)?, Packed::of_some(self, gamma)?, Packed::of_some(self, beta)?);
        let (mut y, mut stats) = (x.room(self)?, Tensor::alloc(self, &[2, rows])?);
        let affine = NormAffine { gamma: gamma.as_ref().map(Packed::at), beta: beta.as_ref().map(Packed::at) };
        plan.layer_norm(self, x.at(), affine, NormResults { y: y.at_mut(), stats: stats.at_mut() })?;
        Ok((y, stats))
    }

    fn layer_norm_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        beta: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<(), NnError> {
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let (gamma, beta) = (Packed::of_some(self, gamma)?, Packed::of_some(self, beta)?);
        let mut stats = Tensor::alloc(self, &[2, rows])?;
        let affine = NormAffine { gamma: gamma.as_ref().map(Packed::at), beta: beta.as_ref().map(Packed::at) };
        plan.layer_norm_in_place(self, x.at_mut(), affine, stats.at_mut())
    }

    fn add_layer_norm<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        r: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        beta: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<NormedSum<Self, T>, NnError> {
        let (x, r) = (x.operand(), r.operand());
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let (x, r) = (Packed::of(self, x)?, Packed::of(self, r)?);
        let (gamma, beta) = (Packed::of_some(self, gamma)?, Packed::of_some(self, beta)?);
        let (mut sum, mut y, mut stats) = (x.room(self)?, x.room(self)?, Tensor::alloc(self, &[2, rows])?);
        let affine = NormAffine { gamma: gamma.as_ref().map(Packed::at), beta: beta.as_ref().map(Packed::at) };
        let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
        plan.add_layer_norm(self, [x.at(), r.at()], affine, sum.at_mut(), results)?;
        Ok((sum, y, stats))
    }

    fn layer_norm_backward<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        stats: &impl Operand<Self, f32>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 3], NnError> {
        let (x, g) = (x.operand(), g.operand());
        let plan = NormPlan::new(x.layout().shape(), 0.0)?; // the statistics include eps
        let (_, columns) = rows_and_columns(x.layout());
        let (x, gamma) = (Packed::of(self, x)?, Packed::of_some(self, gamma)?);
        let (stats, g) = (Packed::of(self, stats.operand())?, Packed::of(self, g)?);
        let (mut dx, mut dgamma) = (x.room(self)?, Tensor::alloc(self, &[columns])?);
        let mut dbeta = Tensor::alloc(self, &[columns])?;
        let saved = NormSaved { x: x.at(), gamma: gamma.as_ref().map(Packed::at), stats: stats.at() };
        let gradients = NormGradients { x: dx.at_mut(), gamma: Some(dgamma.at_mut()), beta: Some(dbeta.at_mut()) };
        plan.layer_norm_backward(self, saved, g.at(), gradients)?;
        Ok([dx, dgamma, dbeta])
    }

    fn rms_norm<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<Normed<Self, T>, NnError> {
        let x = x.operand();
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let (x, gamma) = (Packed::of(self, x)?, Packed::of_some(self, gamma)?);
        let (mut y, mut stats) = (x.room(self)?, Tensor::alloc(self, &[rows])?);
        let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
        plan.rms_norm(self, x.at(), gamma.as_ref().map(Packed::at), results)?;
        Ok((y, stats))
    }

    fn rms_norm_in_place<T: Real>(
        &self,
        x: &mut Tensor<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        eps: f32,
    ) -> Result<(), NnError> {
        let plan = NormPlan::new(x.layout().shape(), eps)?;
        let (rows, _) = rows_and_columns(x.layout());
        let (gamma, mut stats) = (Packed::of_some(self, gamma)?, Tensor::alloc(self, &[rows])?);
        plan.rms_norm_in_place(self, x.at_mut(), gamma.as_ref().map(Packed::at), stats.at_mut())
    }

    fn rms_norm_backward<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        gamma: Option<TensorRef<'_, Self, T>>,
        stats: &impl Operand<Self, f32>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 2], NnError> {
        let (x, g) = (x.operand(), g.operand());
        let plan = NormPlan::new(x.layout().shape(), 0.0)?; // the statistics include eps
        let (_, columns) = rows_and_columns(x.layout());
        let (x, gamma) = (Packed::of(self, x)?, Packed::of_some(self, gamma)?);
        let (stats, g) = (Packed::of(self, stats.operand())?, Packed::of(self, g)?);
        let (mut dx, mut dgamma) = (x.room(self)?, Tensor::alloc(self, &[columns])?);
        let saved = NormSaved { x: x.at(), gamma: gamma.as_ref().map(Packed::at), stats: stats.at() };
        plan.rms_norm_backward(self, saved, g.at(), dx.at_mut(), Some(dgamma.at_mut()))?;
        Ok([dx, dgamma])
    }

    fn reduce<T: Real>(
        &self,
        reduction: Reduction,
        x: &impl Operand<Self, T>,
        axes: &[usize],
    ) -> Result<Tensor<Self, T>, NnError> {
        let x = x.operand();
        let plan = ReducePlan::new(x.layout().shape(), axes, reduction)?;
        let (x, mut y) = (Packed::of(self, x)?, Tensor::alloc(self, plan.layout().shape())?);
        plan.run(self, x.at(), y.at_mut())?;
        Ok(y)
    }

    fn arg_max<T: Real>(&self, x: &impl Operand<Self, T>, axis: usize) -> Result<Tensor<Self, u32>, NnError> {
        let x = x.operand();
        let mut shape = x.layout().shape().to_vec();
        if axis >= shape.len() {
            return Err(NnError::Axis { op: "arg_max", rank: shape.len(), axis });
        }
        shape.remove(axis);
        let (x, mut y) = (Packed::of(self, x)?, Tensor::alloc(self, &shape)?);
        arg_max(self, x.at(), axis, y.at_mut())?;
        Ok(y)
    }

    fn cross_entropy<T: Real>(
        &self,
        logits: &impl Operand<Self, T>,
        targets: &impl Operand<Self, u32>,
        scale: f32,
    ) -> Result<RowLosses<Self, T>, NnError> {
        let logits = logits.operand();
        let [rows, classes] = matrix("cross_entropy", logits.layout())?;
        let plan = CrossEntropyPlan::new(rows, classes)?;
        let (logits, targets) = (Packed::of(self, logits)?, Packed::of(self, targets.operand())?);
        let (mut losses, mut dlogits) = (Tensor::alloc(self, &[rows])?, logits.room(self)?);
        let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: dlogits.at_mut() };
        plan.cross_entropy(self, scale, logits.at(), targets.at(), results)?;
        Ok((losses, dlogits))
    }

    fn cross_entropy_probs<T: Real>(
        &self,
        logits: &impl Operand<Self, T>,
        probs: &impl Operand<Self, T>,
        scale: f32,
    ) -> Result<RowLosses<Self, T>, NnError> {
        let logits = logits.operand();
        let [rows, classes] = matrix("cross_entropy_probs", logits.layout())?;
        let plan = CrossEntropyPlan::for_probs(rows, classes)?;
        let (logits, probs) = (Packed::of(self, logits)?, Packed::of(self, probs.operand())?);
        let (mut losses, mut dlogits) = (Tensor::alloc(self, &[rows])?, logits.room(self)?);
        let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: dlogits.at_mut() };
        plan.cross_entropy_probs(self, scale, logits.at(), probs.at(), results)?;
        Ok((losses, dlogits))
    }

    fn matmul_scaled<T: Real>(
        &self,
        a: &impl Operand<Self, T>,
        b: &impl Operand<Self, T>,
        alpha: f32,
    ) -> Result<Tensor<Self, T>, NnError> {
        let (a, b) = (a.operand(), b.operand());
        let mut c = Tensor::alloc(self, &product_shape("matmul", a.layout(), ("b", b.layout()))?)?;
        let (a, b) = (Packed::factor(self, a)?, Packed::factor(self, b)?);
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
    ) -> Result<Tensor<Self, T>, NnError> {
        let (x, w) = (x.operand(), w.operand());
        let [rows, inner, columns] = layer("linear", x.layout(), w.layout())?;
        let shape = with_columns(x.layout(), columns);
        let (x, w) = (Packed::matrix(self, x, [rows, inner])?, Packed::factor(self, w)?);
        let (bias, mut y) = (Packed::of_some(self, bias)?, Tensor::alloc(self, &[rows, columns])?);
        let operands = LinearOperands { x: x.at(), w: w.at(), bias: bias.as_ref().map(Packed::at) };
        linear(self, operands, f, y.at_mut())?;
        y.into_shape(&shape)
    }

    fn linear_backward<T: Real>(
        &self,
        x: &impl Operand<Self, T>,
        w: &impl Operand<Self, T>,
        g: &impl Operand<Self, T>,
    ) -> Result<[Tensor<Self, T>; 3], NnError> {
        const OP: &str = "linear_backward";
        let (of_x, w, g) = (x.operand(), w.operand(), g.operand());
        let [rows, inner, columns] = layer(OP, of_x.layout(), w.layout())?;
        let expected = with_columns(of_x.layout(), columns);
        if g.layout().shape() != expected {
            return Err(NnError::shape(OP, "g", &expected[..], g.layout()));
        }
        let (x, w) = (Packed::matrix(self, of_x, [rows, inner])?, Packed::factor(self, w)?);
        let d = Packed::of(self, g)?;
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
    ) -> Result<Attended<Self, T>, NnError> {
        let (q, k, v) = (q.operand(), k.operand(), v.operand());
        let plan = attention_plan("attention", [q.layout(), k.layout()], options)?;
        let (q, k, v) = (Packed::rows(self, q)?, Packed::rows(self, k)?, Packed::rows(self, v)?);
        let (mut y, mut lse) = (q.room(self)?, plan.lse(self)?);
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
    ) -> Result<[Tensor<Self, T>; 3], NnError> {
        let (q, k, v) = (q.operand(), k.operand(), v.operand());
        let plan = attention_plan("attention_backward", [q.layout(), k.layout()], options)?;
        // Gradients are row-major, and have the strides of their operands.
        let (q, k, v) = (Packed::of(self, q)?, Packed::of(self, k)?, Packed::of(self, v)?);
        let g = Packed::of(self, g.operand())?;
        let (mut dq, mut dk, mut dv) = (q.room(self)?, k.room(self)?, v.room(self)?);
        let inputs = AttentionInputs::new(q.at(), k.at(), v.at());
        let saved = AttentionSaved { y: y.at(), lse: lse.at() };
        let gradients = AttentionGradients { q: dq.at_mut(), k: dk.at_mut(), v: dv.at_mut() };
        plan.backward(self, inputs, saved, g.at(), gradients)?;
        Ok([dq, dk, dv])
    }

    fn gather<T: Real>(&self, table: &impl Operand<Self, T>, indices: &[u32]) -> Result<Tensor<Self, T>, NnError> {
        let table = table.operand();
        let Some((&rows, row)) = table.layout().shape().split_first() else {
            return Err(NnError::TooFewAxes { op: "gather", min: 1, got: 0 });
        };
        let mut y = Tensor::alloc(self, &[&[indices.len()], row].concat())?;
        let indices = Indices::new(self, rows, indices)?;
        indices.gather(self, Packed::of(self, table)?.at(), y.at_mut())?;
        Ok(y)
    }

    fn concat<T: StridedElement>(
        &self,
        axis: usize,
        parts: &[TensorRef<'_, Self, T>],
    ) -> Result<Tensor<Self, T>, NnError> {
        let mut shape = parts.first().map_or(Vec::new(), |part| part.layout().shape().to_vec());
        let lengths = parts.iter().filter_map(|part| part.layout().shape().get(axis));
        if let Some(len) = shape.get_mut(axis) {
            *len = lengths.fold(0, |sum: usize, &len| sum.saturating_add(len));
        }
        let mut y = Tensor::alloc(self, &shape)?;
        concat(self, axis, parts, y.buffer_mut())?;
        Ok(y)
    }

    fn widen<T: Real>(&self, x: &impl Operand<Self, T>) -> Result<Tensor<Self, f32>, NnError> {
        let x = Packed::of(self, x.operand())?;
        let mut y = Tensor::alloc(self, x.layout().shape())?;
        widen(self, x.at(), y.at_mut())?;
        Ok(y)
    }

    fn narrow<T: Real>(&self, x: &impl Operand<Self, f32>, overflow: Overflow) -> Result<Tensor<Self, T>, NnError> {
        let x = Packed::of(self, x.operand())?;
        let mut y = Tensor::alloc(self, x.layout().shape())?;
        narrow(self, overflow, x.at(), y.at_mut())?;
        Ok(y)
    }
}
