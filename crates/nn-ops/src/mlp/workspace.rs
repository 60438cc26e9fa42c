//! The memory and the plans that the steps of a perceptron share.

use backend_api::{Buffer as _, Queue, ops::linalg::LinalgOps};
use core_types::params::elementwise::Activation;

use crate::{CrossEntropyPlan, Dense, DensePlan, ElementwisePlan, Layout, NnError, TensorMut, TensorRef};

/// Memory that the steps of an [`Mlp`](super::Mlp) work in, made once for all of them.
pub struct MlpWorkspace<Q: Queue> {
    /// Inputs of the network, then the units of each layer.
    sizes: Vec<usize>,
    /// The most rows of a batch.
    capacity: usize,
    /// Rows of the last step, 0 before the first.
    rows: usize,
    plans: Plans,
    /// The output of each layer.
    outputs: Vec<Q::Buf<f32>>,
    /// The gradient of each layer's output before its activation.
    gradients: Vec<Q::Buf<f32>>,
    /// The gradient of a layer's input.
    product: Q::Buf<f32>,
    losses: Q::Buf<f32>,
}

/// The plans of steps on batches of one size.
struct Plans {
    rows: Layout,
    layers: Vec<LayerPlans>,
    loss: CrossEntropyPlan,
}

struct LayerPlans {
    dense: DensePlan,
    /// The plan of the activation that makes the layer's input.
    input: ElementwisePlan,
}

impl Plans {
    fn new(sizes: &[usize], rows: usize) -> Result<Self, NnError> {
        let last = sizes.len() - 2; // a network has a layer
        let layer = |(i, pair): (usize, &[usize])| {
            let f = if i < last { Activation::Relu } else { Activation::Identity };
            let dense = DensePlan::new(rows, [pair[0], pair[1]], f)?;
            Ok(LayerPlans { dense, input: ElementwisePlan::new(&[rows, pair[0]])? })
        };
        Ok(Self {
            rows: Layout::of("mlp.workspace", &[rows])?,
            layers: sizes.windows(2).enumerate().map(layer).collect::<Result<_, NnError>>()?,
            loss: CrossEntropyPlan::new(rows, sizes[last + 1])?,
        })
    }
}

impl<Q: Queue> MlpWorkspace<Q> {
    /// The mean cross-entropy of the batch in the last call of `train_step`, from before its step. Waits for that step.
    ///
    /// A replay of a recorded step does not count as such a call: read its loss after the first replay, and before a
    /// batch of another size comes in between.
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
        let sizes: Vec<usize> = sizes(layers).collect();
        let plans = Plans::new(&sizes, rows)?;
        let output = |plans: &LayerPlans| q.alloc(plans.dense.output().numel());
        let of_layers = || plans.layers.iter().map(output).collect::<Result<_, _>>();
        let widest = plans.layers.iter().skip(1).map(|plans| plans.input.layout().numel()).max();
        Ok(Self {
            capacity: rows,
            rows: 0,
            outputs: of_layers()?,
            gradients: of_layers()?,
            product: q.alloc(widest.unwrap_or(0))?,
            losses: q.alloc(rows)?,
            sizes,
            plans,
        })
    }

    /// Starts a step of `op` on `rows` rows.
    pub(super) fn begin(&mut self, op: &'static str, layers: &[Dense<Q>], rows: usize) -> Result<(), NnError> {
        if !sizes(layers).eq(self.sizes.iter().copied()) {
            let (expected, got) = (sizes(layers).collect::<Vec<_>>()[..].into(), self.sizes[..].into());
            return Err(NnError::ShapeMismatch { op, tensor: "workspace", expected, got });
        }
        if rows > self.capacity {
            let (expected, got) = ([self.capacity, self.sizes[0]][..].into(), [rows, self.sizes[0]][..].into());
            return Err(NnError::ShapeMismatch { op, tensor: "x", expected, got });
        }
        if rows != self.plans.rows.numel() {
            self.plans = Plans::new(&self.sizes, rows)?;
        }
        self.rows = rows;
        Ok(())
    }

    /// Computes the output of every layer for the network's input x.
    pub(super) fn activate(&mut self, q: &Q, layers: &[Dense<Q>], x: TensorRef<'_, Q, f32>) -> Result<(), NnError> {
        for (i, (layer, LayerPlans { dense, .. })) in layers.iter().zip(&self.plans.layers).enumerate() {
            let (below, own) = self.outputs.split_at_mut(i);
            let y = TensorMut::new(own[0].view_mut(), *dense.output())?;
            match below.last() {
                None => dense.forward(q, layer, x, y)?,
                Some(below) => dense.forward(q, layer, TensorRef::new(below.view(), *dense.input())?, y)?,
            }
        }
        Ok(())
    }

    /// Computes the losses of the batch, and their gradient with respect to the output of the last layer.
    pub(super) fn differentiate_loss(&mut self, q: &Q, targets: TensorRef<'_, Q, u32>) -> Result<(), NnError> {
        let last = self.plans.layers.len() - 1;
        let layout = *self.plans.layers[last].dense.output();
        let logits = TensorRef::new(self.outputs[last].view(), layout)?;
        let dlogits = TensorMut::new(self.gradients[last].view_mut(), layout)?;
        let losses = TensorMut::new(self.losses.view_mut(), self.plans.rows)?;
        self.plans.loss.cross_entropy(q, 1.0 / self.rows as f32, logits, targets, losses, dlogits)
    }

    /// Computes the gradients of `layer`, which is number `i`, and of the output of the layer below, if there is one.
    pub(super) fn differentiate(
        &mut self,
        q: &Q,
        i: usize,
        layer: &mut Dense<Q>,
        x: TensorRef<'_, Q, f32>,
    ) -> Result<(), NnError> {
        let LayerPlans { dense, input } = &self.plans.layers[i];
        let (below, own) = self.gradients.split_at_mut(i);
        let d = TensorRef::new(own[0].view(), *dense.output())?;
        let Some(below) = below.last_mut() else {
            return dense.backward(q, layer, x, d, None);
        };
        let activated = TensorRef::new(self.outputs[i - 1].view(), *dense.input())?;
        let product = TensorMut::new(self.product.view_mut(), *dense.input())?;
        dense.backward(q, layer, activated, d, Some(product))?;
        // ReLU's output is positive exactly where its input is.
        let product = TensorRef::new(self.product.view(), *dense.input())?;
        let below = TensorMut::new(below.view_mut(), *dense.input())?;
        input.activate_backward(q, Activation::Relu, activated, product, below)
    }
}

/// Inputs of the network, then the units of each layer.
fn sizes<Q: LinalgOps>(layers: &[Dense<Q>]) -> impl Iterator<Item = usize> {
    layers.iter().take(1).map(Dense::inputs).chain(layers.iter().map(Dense::outputs))
}

impl<Q: Queue> core::fmt::Debug for MlpWorkspace<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MlpWorkspace").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
