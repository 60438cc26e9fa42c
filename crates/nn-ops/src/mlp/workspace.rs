use backend_api::{
    Buffer as _, Queue, Ref,
    ops::linalg::{ActivateBackward, CrossEntropy, LinalgOps},
};
use core_types::params::elementwise::Activation;

use super::{Sgd, dense::Dense};
use crate::{NnError, Shape};

/// Memory that the steps of an [`Mlp`](super::Mlp) work in, made once for all of them.
pub struct MlpWorkspace<Q: Queue> {
    /// The most rows of a batch.
    capacity: usize,
    /// Rows of the last step.
    rows: usize,
    /// The output of each layer.
    pub(super) outputs: Vec<Q::Buf<f32>>,
    /// The gradient of each layer's output before its activation.
    gradients: Vec<Q::Buf<f32>>,
    /// The gradient of a layer's input.
    product: Q::Buf<f32>,
    /// The gradients of a layer's weights and biases.
    weights: Q::Buf<f32>,
    biases: Q::Buf<f32>,
    losses: Q::Buf<f32>,
}

impl<Q: Queue> MlpWorkspace<Q> {
    /// The mean cross-entropy of the last batch, from before its step. Waits for that step.
    ///
    /// # Errors
    /// [`NnError::EmptyReduction`] before the first step, [`NnError::Backend`].
    pub fn loss(&self, q: &Q) -> Result<f32, NnError> {
        if self.rows == 0 {
            return Err(NnError::EmptyReduction { op: "mlp.loss" });
        }
        let sum: f64 = q.read(self.losses.slice(0..self.rows)?)?.into_iter().map(f64::from).sum();
        Ok((sum / self.rows as f64) as f32)
    }
}

impl<Q: LinalgOps> MlpWorkspace<Q> {
    pub(super) fn new(q: &Q, layers: &[Dense<Q>], rows: usize) -> Result<Self, NnError> {
        let room = |width: usize| {
            let len = rows.checked_mul(width).ok_or(NnError::Overflow { op: "mlp" })?;
            Ok::<_, NnError>(q.alloc(len)?)
        };
        let of_layers = || layers.iter().map(|layer| room(layer.outputs)).collect::<Result<_, _>>();
        let most = |lens: &mut dyn Iterator<Item = usize>| lens.max().unwrap_or(0);
        let widest = most(&mut layers.iter().skip(1).map(|layer| layer.inputs));
        Ok(Self {
            capacity: rows,
            rows: 0,
            outputs: of_layers()?,
            gradients: of_layers()?,
            product: room(widest)?,
            weights: q.alloc(most(&mut layers.iter().map(|layer| layer.weight.len())))?,
            biases: q.alloc(most(&mut layers.iter().map(|layer| layer.outputs)))?,
            losses: room(1)?,
        })
    }

    /// Starts a step of `rows` rows.
    pub(super) fn begin(&mut self, layers: &[Dense<Q>], rows: usize) -> Result<(), NnError> {
        let mismatch = |lhs: Shape, rhs: Shape| Err(NnError::ShapeMismatch { op: "mlp", lhs, rhs });
        let sizes: Vec<usize> = layers.iter().map(|layer| self.capacity * layer.outputs).collect();
        let own: Vec<usize> = self.outputs.iter().map(|output| output.len()).collect();
        if sizes != own {
            return mismatch(sizes[..].into(), own[..].into());
        }
        if rows > self.capacity {
            return mismatch([self.capacity].as_slice().into(), [rows].as_slice().into());
        }
        self.rows = rows;
        Ok(())
    }

    /// The losses of a batch, and their gradient by the output of the last layer.
    pub(super) fn differentiate_loss(
        &mut self,
        q: &Q,
        rows: usize,
        classes: usize,
        targets: Ref<'_, Q, u32>,
    ) -> Result<(), NnError> {
        let last = self.outputs.len() - 1;
        let logits = self.outputs[last].slice(0..rows * classes)?;
        let gradient = self.gradients[last].slice_mut(0..rows * classes)?;
        let losses = self.losses.slice_mut(0..rows)?;
        Ok(q.cross_entropy(CrossEntropy {
            classes,
            scale: 1.0 / rows as f32,
            logits,
            targets: q.shorten(targets),
            losses,
            dlogits: gradient,
        })?)
    }

    /// Computes the gradient of the layer below `layer`, which is number `i`: `relu'(input) (gradient W^T)`.
    pub(super) fn gradient_below(&mut self, q: &Q, i: usize, layer: &Dense<Q>, rows: usize) -> Result<(), NnError> {
        let len = rows * layer.inputs;
        let (below, own) = self.gradients.split_at_mut(i);
        layer.input_gradient(q, rows, own[0].slice(0..rows * layer.outputs)?, self.product.slice_mut(0..len)?)?;
        // ReLU's output is positive exactly where its input is.
        let (input, product) = (self.outputs[i - 1].slice(0..len)?, self.product.slice(0..len)?);
        Ok(q.activate_backward(ActivateBackward {
            f: Activation::Relu,
            saved: input,
            g: product,
            dx: below[i - 1].slice_mut(0..len)?,
        })?)
    }

    /// Takes the step of `layer`, which is number `i`, for `rows` rows of the network's input x.
    pub(super) fn descend(
        &mut self,
        q: &Q,
        i: usize,
        layer: &mut Dense<Q>,
        (rows, x): (usize, Ref<'_, Q, f32>),
        sgd: Sgd,
    ) -> Result<(), NnError> {
        let gradient = self.gradients[i].slice(0..rows * layer.outputs)?;
        let scratch = [&mut self.weights, &mut self.biases];
        match i.checked_sub(1).map(|below| &self.outputs[below]) {
            None => layer.descend(q, rows, x, gradient, scratch, sgd),
            Some(below) => layer.descend(q, rows, below.slice(0..rows * layer.inputs)?, gradient, scratch, sgd),
        }
    }
}

impl<Q: Queue> core::fmt::Debug for MlpWorkspace<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MlpWorkspace").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
