//! The passes of a training step, in memory that is made once.

use backend_api::{Buffer as _, Mut, Queue, Real, Ref};

use super::layers::{DenseLayers, LayerPlans, MlpPlans, needs_argument};
use crate::{
    ElementwiseOps, GemmOps, TensorOps,
    error::{NnError, Result},
    optim::{Optimizer, ParameterArena},
    products::DenseGradients,
    tensor::{TensorMut, TensorRef},
};

/// Memory for passes over batches of up to `capacity` rows, of elements of type `T`.
pub(super) struct MlpPass<Q: Queue, T: Real> {
    /// The layers that it is for.
    layers: DenseLayers,
    capacity: usize,
    pub(super) plans: MlpPlans,
    hidden: Vec<Hidden<Q, T>>,
    logits: Q::Buf<T>,
    /// The gradient of each layer's output before its activation.
    d: Vec<Q::Buf<T>>,
    /// The gradients of a layer's input, and of the same before dropout.
    products: [Q::Buf<T>; 2],
    /// The gradients of weights and biases.
    pub(super) gradients: ParameterArena<Q, T>,
}

/// Values of a hidden layer that a pass keeps. Unused buffers are empty.
struct Hidden<Q: Queue, T: Real> {
    /// The argument of the activation.
    argument: Q::Buf<T>,
    /// Its result.
    output: Q::Buf<T>,
    /// What dropout leaves of that.
    dropped: Q::Buf<T>,
}

impl<Q: GemmOps + ElementwiseOps + TensorOps, T: Real> MlpPass<Q, T> {
    pub(super) fn new(q: &Q, layers: &DenseLayers, rows: usize) -> Result<Self> {
        let plans = MlpPlans::new(&layers.sizes(), layers.hidden, rows)?;
        let only = |needed: bool, count: usize| q.alloc::<T>(if needed { count } else { 0 });
        let (last, hidden) =
            plans.layers.split_last().map_or((0, &[][..]), |(last, hidden)| (last.dense.output().numel(), hidden));
        let keep = |layer: &LayerPlans| {
            let count = layer.dense.output().numel();
            Ok(Hidden {
                argument: only(needs_argument(layers.hidden), count)?,
                output: q.alloc(count)?,
                dropped: only(layers.dropout.is_some(), count)?,
            })
        };
        let widest = hidden.iter().map(|layer| layer.dense.output().numel()).max().unwrap_or(0);
        Ok(Self {
            capacity: rows,
            hidden: hidden.iter().map(keep).collect::<Result<_>>()?,
            logits: q.alloc(last)?,
            d: plans.layers.iter().map(|layer| q.alloc(layer.dense.output().numel())).collect::<Result<_, _>>()?,
            products: [q.alloc(widest)?, only(layers.dropout.is_some(), widest)?],
            gradients: ParameterArena::zeros(q, &layers.table)?,
            layers: layers.clone(),
            plans,
        })
    }

    /// Prepares a pass of `op` over `rows` rows.
    pub(super) fn begin(&mut self, op: &'static str, layers: &DenseLayers, rows: usize) -> Result<()> {
        let sizes = layers.sizes();
        let of_training = self.layers.sizes();
        if sizes != of_training {
            return Err(NnError::shape(op, "training", &sizes[..], &of_training[..]));
        }
        if !self.layers.are(layers) {
            return Err(NnError::OtherPlan { op, what: "training" });
        }
        if rows > self.capacity {
            return Err(NnError::shape(op, "x", [self.capacity, sizes[0]], [rows, sizes[0]]));
        }
        if rows != self.plans.rows.numel() {
            self.plans = MlpPlans::new(&sizes, layers.hidden, rows)?;
        }
        Ok(())
    }

    /// Computes the logits of x, and keeps the values that the backward pass needs.
    ///
    /// The step number of `optimizer` selects the masks of dropout.
    pub(super) fn forward(
        &mut self,
        q: &Q,
        layers: &DenseLayers,
        values: &ParameterArena<Q, T>,
        x: TensorRef<'_, Q, T>,
        optimizer: &Optimizer<Q>,
    ) -> Result<()> {
        for (i, (layer, LayerPlans { dense, output: map, .. })) in
            layers.layers.iter().zip(&self.plans.layers).enumerate()
        {
            let (below, own) = self.hidden.split_at_mut(i);
            let x = match below.last() {
                None => TensorRef::new(q.shorten(x.view()), *x.layout())?,
                Some(below) => TensorRef::new(below.result(layers), *dense.input())?,
            };
            let Some(own) = own.first_mut() else {
                dense.forward(q, layer, values, x, TensorMut::new(self.logits.view_mut(), *dense.output())?)?;
                continue;
            };
            if needs_argument(layers.hidden) {
                dense.forward(q, layer, values, x, TensorMut::new(own.argument.view_mut(), *dense.output())?)?;
                let argument = TensorRef::new(own.argument.view(), *dense.output())?;
                map.activate(q, layers.hidden, argument, TensorMut::new(own.output.view_mut(), *dense.output())?)?;
            } else {
                dense.forward(q, layer, values, x, TensorMut::new(own.output.view_mut(), *dense.output())?)?;
            }
            if let Some(dropout) = &layers.dropout {
                let output = TensorRef::new(own.output.view(), *dense.output())?;
                let dropped = TensorMut::new(own.dropped.view_mut(), *dense.output())?;
                map.training_dropout(q, dropout.at(i as u32), optimizer, output, dropped)?;
            }
        }
        Ok(())
    }

    /// The logits, and where their gradient goes.
    pub(super) fn loss(&mut self) -> (Ref<'_, Q, T>, Mut<'_, Q, T>) {
        let last = self.d.len() - 1; // a network has a layer
        (self.logits.view(), self.d[last].view_mut())
    }

    /// Computes the gradients of all weights from the gradient of the logits.
    pub(super) fn backward(
        &mut self,
        q: &Q,
        layers: &DenseLayers,
        values: &ParameterArena<Q, T>,
        x: TensorRef<'_, Q, T>,
        optimizer: &Optimizer<Q>,
    ) -> Result<()> {
        for (i, layer) in layers.layers.iter().enumerate().rev() {
            let LayerPlans { dense, input: map, .. } = &self.plans.layers[i];
            let (below, own) = self.d.split_at_mut(i);
            let d = TensorRef::new(own[0].view(), *dense.output())?;
            let (Some(below), Some(hidden)) = (below.last_mut(), i.checked_sub(1).map(|i| &self.hidden[i])) else {
                let of = DenseGradients { output: d, parameters: &mut self.gradients, input: None };
                dense.backward(q, layer, values, x, of)?;
                continue;
            };
            let input = TensorRef::new(hidden.result(layers), *dense.input())?;
            let [product, undropped] = &mut self.products;
            let into = TensorMut::new(product.view_mut(), *dense.input())?;
            let of = DenseGradients { output: d, parameters: &mut self.gradients, input: Some(into) };
            dense.backward(q, layer, values, input, of)?;
            let mut product = TensorRef::new(product.view(), *dense.input())?;
            if let Some(dropout) = &layers.dropout {
                let into = TensorMut::new(undropped.view_mut(), *dense.input())?;
                map.training_dropout(q, dropout.at((i - 1) as u32), optimizer, product, into)?;
                product = TensorRef::new(undropped.view(), *dense.input())?;
            }
            let saved = if needs_argument(layers.hidden) { &hidden.argument } else { &hidden.output };
            let saved = TensorRef::new(saved.view(), *dense.input())?;
            let below = TensorMut::new(below.view_mut(), *dense.input())?;
            map.activate_backward(q, layers.hidden, saved, product, below)?;
        }
        Ok(())
    }
}

impl<Q: Queue, T: Real> Hidden<Q, T> {
    /// The input of the next layer.
    fn result(&self, layers: &DenseLayers) -> Ref<'_, Q, T> {
        if layers.dropout.is_some() { self.dropped.view() } else { self.output.view() }
    }
}
