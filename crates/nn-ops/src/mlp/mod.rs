mod dense;
mod workspace;

use backend_api::{Buffer as _, BufferRef as _, Queue, Ref, ops::linalg::LinalgOps};
use core_types::params::elementwise::Activation;
use rand_core::Rng;

use self::dense::Dense;
pub use self::workspace::MlpWorkspace;
use crate::{
    NnError,
    io::{Tensor, Tensors},
};

/// A multi-layer perceptron in f32: dense layers with ReLU between them, trained by stochastic gradient descent with
/// momentum on the softmax cross-entropy.
///
/// Parameters stay on the queue's device. Activations are row-major `[rows][features]`, weights `[inputs][outputs]`.
///
/// ```
/// use nn_ops::{Mlp, Sgd};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let q = runtime::cpu()?;
/// let mut network = Mlp::new(&q, &[2, 16, 2], &mut ChaCha8Rng::seed_from_u64(2))?;
/// let x = q.upload(&[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0f32])?; // the four inputs of XOR
/// let y = q.upload(&[0, 1, 1, 0u32])?;
/// let mut workspace = network.workspace(&q, 4)?;
/// for _ in 0..500 {
///     network.train_step(&q, &mut workspace, x.view(), y.view(), Sgd { rate: 0.1, momentum: 0.9 })?;
/// }
/// assert!(workspace.loss(&q)? < 0.1);
/// assert_eq!(network.classify(&q, x.view())?, [0, 1, 1, 0]);
/// # use backend_api::{Buffer, Queue};
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mlp<Q: Queue> {
    layers: Vec<Dense<Q>>,
}

/// Stochastic gradient descent: `v = momentum v + g`, `w = w - rate v`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// Step size.
    pub rate: f32,
    /// Share of the last step kept, in `0..1`.
    pub momentum: f32,
}

impl<Q: LinalgOps> Mlp<Q> {
    /// A network with `sizes[0]` inputs, `sizes[i]` units in layer `i` and zero biases; weights uniform in
    /// `+-sqrt(6 / inputs)` (He et al., arXiv 1502.01852).
    ///
    /// # Errors
    /// [`NnError::Rank`] for fewer than two sizes, [`NnError::EmptyReduction`] for a size of 0, [`NnError::Backend`].
    pub fn new(q: &Q, sizes: &[usize], rng: &mut impl Rng) -> Result<Self, NnError> {
        if sizes.len() < 2 {
            return Err(NnError::Rank { op: "mlp", expected: 2, got: sizes.len() });
        }
        if sizes.contains(&0) {
            return Err(NnError::EmptyReduction { op: "mlp" });
        }
        let layer = |pair: &[usize]| {
            let (inputs, outputs) = (pair[0], pair[1]);
            let len = inputs.checked_mul(outputs).ok_or(NnError::Overflow { op: "mlp" })?;
            let limit = (6.0 / inputs as f32).sqrt();
            let uniform = |word: u32| (word >> 8) as f32 / (1 << 24) as f32; // in [0, 1)
            let weights: Vec<f32> = (0..len).map(|_| limit * (2.0 * uniform(rng.next_u32()) - 1.0)).collect();
            Dense::new(q, [inputs, outputs], &weights)
        };
        Ok(Self { layers: sizes.windows(2).map(layer).collect::<Result<_, NnError>>()? })
    }

    /// The logits `[rows][classes]` of inputs `[rows][features]`.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] if the inputs are no whole number of rows, [`NnError::Backend`].
    pub fn forward(&self, q: &Q, x: Ref<'_, Q, f32>) -> Result<Q::Buf<f32>, NnError> {
        let rows = self.rows(x)?;
        let room = |layer: &Dense<Q>| Ok(q.alloc(rows * layer.outputs)?);
        let mut outputs = self.layers.iter().map(room).collect::<Result<Vec<_>, NnError>>()?;
        self.activations(q, rows, x, &mut outputs)?;
        outputs.pop().ok_or(NnError::Rank { op: "mlp", expected: 2, got: 0 })
    }

    /// The class with the largest logit of each row, the first of equals.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn classify(&self, q: &Q, x: Ref<'_, Q, f32>) -> Result<Vec<u32>, NnError> {
        let logits = q.download(&self.forward(q, x)?)?;
        let best = |row: &[f32]| {
            (0u32..).zip(row).fold((0, f32::NEG_INFINITY), |best, (j, &v)| if v > best.1 { (j, v) } else { best }).0
        };
        Ok(logits.chunks_exact(self.classes()).map(best).collect())
    }

    /// Memory for the steps of this network on batches of up to `rows` rows.
    ///
    /// # Errors
    /// [`NnError::Overflow`] if no memory holds that many rows, [`NnError::Backend`].
    pub fn workspace(&self, q: &Q, rows: usize) -> Result<MlpWorkspace<Q>, NnError> {
        MlpWorkspace::new(q, &self.layers, rows)
    }

    /// One step of gradient descent on the mean cross-entropy of a batch, which
    /// [`loss`](MlpWorkspace::loss) then gives, from before the step.
    ///
    /// It allocates nothing but what single ops need, and waits for nothing, so it can be recorded:
    /// [`Record`](backend_api::Record). A recording keeps the buffers and the rates that it was given.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] if inputs and targets are not of the same number of rows, or the workspace is for fewer, or
    /// for another network; [`NnError::EmptyReduction`] for an empty batch; [`NnError::Backend`].
    pub fn train_step(
        &mut self,
        q: &Q,
        workspace: &mut MlpWorkspace<Q>,
        x: Ref<'_, Q, f32>,
        targets: Ref<'_, Q, u32>,
        sgd: Sgd,
    ) -> Result<(), NnError> {
        let rows = self.rows(x)?;
        if rows != targets.len() {
            let (lhs, rhs) = ([rows].as_slice().into(), [targets.len()].as_slice().into());
            return Err(NnError::ShapeMismatch { op: "cross_entropy", lhs, rhs });
        }
        if rows == 0 {
            return Err(NnError::EmptyReduction { op: "cross_entropy" });
        }
        workspace.begin(&self.layers, rows)?;
        self.activations(q, rows, x, &mut workspace.outputs)?;
        workspace.differentiate_loss(q, rows, self.classes(), targets)?;
        for (i, layer) in self.layers.iter_mut().enumerate().rev() {
            // The gradient for the layer below needs the weights from before the step.
            if i > 0 {
                workspace.gradient_below(q, i, layer, rows)?;
            }
            workspace.descend(q, i, layer, (rows, x), sgd)?;
        }
        Ok(())
    }

    /// The parameters as tensors named `names[i].weight` (`[inputs][outputs]`) and `names[i].bias`.
    ///
    /// # Errors
    /// [`NnError::Rank`] unless there is a name for each layer, [`NnError::Backend`].
    pub fn tensors(&self, q: &Q, names: &[&str]) -> Result<Tensors, NnError> {
        if names.len() != self.layers.len() {
            return Err(NnError::Rank { op: "mlp.tensors", expected: self.layers.len(), got: names.len() });
        }
        let mut tensors = Tensors::new();
        for (layer, name) in self.layers.iter().zip(names) {
            let weight = Tensor { shape: vec![layer.inputs, layer.outputs], data: q.download(&layer.weight)? };
            let bias = Tensor { shape: vec![layer.outputs], data: q.download(&layer.bias)? };
            tensors.insert(format!("{name}.weight"), weight);
            tensors.insert(format!("{name}.bias"), bias);
        }
        Ok(tensors)
    }

    fn classes(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    fn rows(&self, x: Ref<'_, Q, f32>) -> Result<usize, NnError> {
        let features = self.layers.first().map_or(0, |layer| layer.inputs);
        match x.len().checked_rem(features) {
            Some(0) => Ok(x.len() / features),
            _ => {
                let (lhs, rhs) = ([0, features].as_slice().into(), [x.len()].as_slice().into());
                Err(NnError::ShapeMismatch { op: "mlp", lhs, rhs })
            }
        }
    }

    /// Writes the output of every layer; ReLU is applied to all but the last.
    fn activations(&self, q: &Q, rows: usize, x: Ref<'_, Q, f32>, outputs: &mut [Q::Buf<f32>]) -> Result<(), NnError> {
        for (i, layer) in self.layers.iter().enumerate() {
            let activation = if i + 1 < self.layers.len() { Activation::Relu } else { Activation::Identity };
            let (below, own) = outputs.split_at_mut(i);
            match below.last() {
                None => layer.forward(q, rows, x, activation, own[0].view_mut())?,
                Some(below) => layer.forward(q, rows, below.view(), activation, own[0].view_mut())?,
            }
        }
        Ok(())
    }
}

impl<Q: Queue> core::fmt::Debug for Mlp<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let sizes: Vec<_> = self.layers.iter().map(|layer| (layer.inputs, layer.outputs)).collect();
        f.debug_struct("Mlp").field("layers", &sizes).finish_non_exhaustive()
    }
}
