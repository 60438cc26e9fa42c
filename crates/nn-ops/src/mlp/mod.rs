//! A perceptron of dense layers and ReLU, its training step, and what it predicts.

mod workspace;

use backend_api::{Buffer as _, Queue, ops::linalg::LinalgOps};
use core_types::params::elementwise::Activation;
use rand_core::Rng;

pub use self::workspace::MlpWorkspace;
use crate::{Dense, Layout, NnError, Sgd, TensorMut, TensorRef, io::Tensors};

const OP: &str = "mlp";

/// A multi-layer perceptron in f32: dense layers with ReLU between them, trained by stochastic gradient descent with
/// momentum on the softmax cross-entropy.
///
/// Parameters stay on the queue's device. Activations are row-major `[rows, features]`, weights `[inputs, outputs]`.
///
/// ```
/// use nn_ops::{Mlp, Sgd, TensorRef};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let q = runtime::cpu()?;
/// let mut network = Mlp::new(&q, &[2, 16, 2], &mut ChaCha8Rng::seed_from_u64(2))?;
/// let x = q.upload(&[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0f32])?; // the four inputs of XOR
/// let y = q.upload(&[0, 1, 1, 0u32])?;
/// let (x, y) = (TensorRef::contiguous(x.view(), &[4, 2])?, TensorRef::contiguous(y.view(), &[4])?);
/// let mut workspace = network.workspace(&q, 4)?;
/// for _ in 0..500 {
///     network.train_step(&q, &mut workspace, x, y, Sgd { rate: 0.1, momentum: 0.9, decay: 0.0 })?;
/// }
/// assert!(workspace.loss(&q)? < 0.1);
/// assert_eq!(network.classify(&q, x)?, [0, 1, 1, 0]);
/// # use backend_api::{Buffer, Queue};
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mlp<Q: Queue> {
    /// At least one.
    layers: Vec<Dense<Q>>,
}

impl<Q: LinalgOps> Mlp<Q> {
    /// A network with `sizes[0]` inputs, `sizes[i]` units in layer `i` and zero biases; weights uniform in
    /// `+-sqrt(6 / inputs)` (He et al., arXiv 1502.01852).
    ///
    /// # Errors
    /// [`NnError::Parameter`] for fewer than two sizes, [`NnError::EmptyReduction`] for a size of 0, [`NnError::Overflow`] if no
    /// memory holds a layer, [`NnError::Backend`].
    pub fn new(q: &Q, sizes: &[usize], rng: &mut impl Rng) -> Result<Self, NnError> {
        if sizes.len() < 2 {
            let (name, domain) = ("number of sizes", "2 or more");
            return Err(NnError::Parameter { op: OP, name, domain, value: sizes.len() as f64 });
        }
        if sizes.contains(&0) {
            return Err(NnError::EmptyReduction { op: OP });
        }
        let layer = |pair: &[usize]| {
            let (inputs, outputs) = (pair[0], pair[1]);
            Dense::new(q, [inputs, outputs], (6.0 / inputs as f32).sqrt(), rng)
        };
        Ok(Self { layers: sizes.windows(2).map(layer).collect::<Result<_, NnError>>()? })
    }

    /// A network of `layers`, such as were trained elsewhere, the first of which takes the inputs.
    ///
    /// # Errors
    /// [`NnError::Parameter`] without layers, [`NnError::EmptyReduction`] for one without inputs or outputs,
    /// [`NnError::ShapeMismatch`] for one that takes another number of inputs than the layer before it gives.
    pub fn from_layers(layers: Vec<Dense<Q>>) -> Result<Self, NnError> {
        if layers.is_empty() {
            let (name, domain) = ("number of layers", "1 or more");
            return Err(NnError::Parameter { op: OP, name, domain, value: 0.0 });
        }
        if layers.iter().any(|layer| layer.inputs() == 0 || layer.outputs() == 0) {
            return Err(NnError::EmptyReduction { op: OP });
        }
        for pair in layers.windows(2) {
            let fitting = Layout::contiguous(&[pair[0].outputs(), pair[1].outputs()])?;
            fitting.admit(OP, "weight", pair[1].weight().layout())?;
        }
        Ok(Self { layers })
    }

    /// A network of the layers `names`, from the tensors that [`tensors`](Self::tensors) gives for these names. Other tensors may
    /// stand beside them.
    ///
    /// # Errors
    /// As [`Dense::import`] and [`from_layers`](Self::from_layers).
    pub fn import(q: &Q, names: &[&str], tensors: &Tensors) -> Result<Self, NnError> {
        Self::from_layers(names.iter().map(|name| Dense::import(q, name, tensors)).collect::<Result<_, _>>()?)
    }

    /// Writes the logits `[rows, classes]` of inputs `[rows, features]`.
    ///
    /// # Errors
    /// [`NnError::Rank`], [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for tensors that do not fit,
    /// [`NnError::Backend`].
    pub fn forward(&self, q: &Q, x: TensorRef<'_, Q, f32>, logits: TensorMut<'_, Q, f32>) -> Result<(), NnError> {
        const OP: &str = "mlp.forward";
        let rows = self.rows(OP, x.layout())?;
        Layout::contiguous(&[rows, self.classes()])?.admit(OP, "logits", logits.layout())?;
        let (last, hidden) = self.layers.split_at(self.layers.len() - 1);
        let (hidden, last) = (last, &hidden[0]);
        // Two buffers by turns: no activation is needed once the next one is known.
        let widest = hidden.iter().map(Dense::outputs).max().unwrap_or(0);
        let room = |layers: usize| {
            let width = if hidden.len() < layers { 0 } else { widest };
            Ok::<_, NnError>(q.alloc::<f32>(Layout::contiguous(&[rows, width])?.numel())?)
        };
        let (mut below, mut own) = (room(2)?, room(1)?);
        for (i, layer) in hidden.iter().enumerate() {
            let plan = layer.plan(rows, Activation::Relu)?;
            let y = TensorMut::new(own.view_mut(), *plan.output())?;
            match i {
                0 => plan.forward(q, layer, x, y)?,
                _ => plan.forward(q, layer, TensorRef::new(below.view(), *plan.input())?, y)?,
            }
            core::mem::swap(&mut below, &mut own);
        }
        let plan = last.plan(rows, Activation::Identity)?;
        match hidden.len() {
            0 => plan.forward(q, last, x, logits),
            _ => plan.forward(q, last, TensorRef::new(below.view(), *plan.input())?, logits),
        }
    }

    /// The class with the largest logit of each row, the first of equals.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn classify(&self, q: &Q, x: TensorRef<'_, Q, f32>) -> Result<Vec<u32>, NnError> {
        let layout = Layout::contiguous(&[self.rows("mlp.classify", x.layout())?, self.classes()])?;
        let mut logits = q.alloc(layout.numel())?;
        self.forward(q, x, TensorMut::new(logits.view_mut(), layout)?)?;
        let best = |row: &[f32]| {
            (0u32..).zip(row).fold((0, f32::NEG_INFINITY), |best, (j, &v)| if v > best.1 { (j, v) } else { best }).0
        };
        Ok(q.download(&logits)?.chunks_exact(self.classes()).map(best).collect())
    }

    /// Memory for the steps of this network on batches of up to `rows` rows.
    ///
    /// # Errors
    /// [`NnError::Overflow`] if no memory holds that many rows, [`NnError::Backend`].
    pub fn workspace(&self, q: &Q, rows: usize) -> Result<MlpWorkspace<Q>, NnError> {
        MlpWorkspace::new(q, &self.layers, rows)
    }

    /// One step of gradient descent on the mean cross-entropy of a batch with inputs `[rows, features]` and targets
    /// `[rows]`. [`loss`](MlpWorkspace::loss) then gives that cross-entropy, from before the step.
    ///
    /// It takes no memory of the queue beyond what single ops need, and waits for nothing, so it can be recorded:
    /// [`Record`](backend_api::Record). A recording keeps the buffers and the rates that it was given.
    ///
    /// # Errors
    /// [`NnError::Rank`], [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] if inputs and targets do not fit the network
    /// or each other, or the workspace is for fewer rows or for another network; [`NnError::EmptyReduction`] for an empty batch;
    /// [`NnError::Parameter`] for what [`Parameter::descend`](crate::Parameter::descend) refuses; [`NnError::Backend`].
    /// Unless the device failed, nothing has changed.
    pub fn train_step(
        &mut self,
        q: &Q,
        workspace: &mut MlpWorkspace<Q>,
        x: TensorRef<'_, Q, f32>,
        targets: TensorRef<'_, Q, u32>,
        sgd: Sgd,
    ) -> Result<(), NnError> {
        const OP: &str = "mlp.train_step";
        let rows = self.rows(OP, x.layout())?;
        Layout::contiguous(&[rows])?.admit(OP, "targets", targets.layout())?;
        if rows == 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        sgd.check(OP)?;
        workspace.begin(OP, &self.layers, rows)?;
        workspace.activate(q, &self.layers, x)?;
        workspace.differentiate_loss(q, targets)?;
        for (i, layer) in self.layers.iter_mut().enumerate().rev() {
            // The gradient for the layer below needs the weights from before the step.
            workspace.differentiate(q, i, layer, x)?;
            layer.descend(q, sgd)?;
        }
        Ok(())
    }

    /// The parameters as tensors named `names[i].weight` (`[inputs, outputs]`) and `names[i].bias`.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] unless there is a name for each layer, [`NnError::Backend`].
    pub fn tensors(&self, q: &Q, names: &[&str]) -> Result<Tensors, NnError> {
        if names.len() != self.layers.len() {
            let (expected, got) = ([self.layers.len()].as_slice().into(), [names.len()].as_slice().into());
            return Err(NnError::ShapeMismatch { op: "mlp.tensors", tensor: "names", expected, got });
        }
        let mut tensors = Tensors::new();
        for (layer, name) in self.layers.iter().zip(names) {
            layer.export(q, name, &mut tensors)?;
        }
        Ok(tensors)
    }

    fn classes(&self) -> usize {
        self.layers.last().map_or(0, Dense::outputs)
    }

    /// The number of rows in inputs to this network, which are row-major.
    fn rows(&self, op: &'static str, x: &Layout) -> Result<usize, NnError> {
        let &[rows, _] = x.shape() else {
            return Err(NnError::Rank { op, tensor: "x", expected: 2, got: x.rank() });
        };
        Layout::contiguous(&[rows, self.layers[0].inputs()])?.admit(op, "x", x)?;
        Ok(rows)
    }
}

impl<Q: LinalgOps> core::fmt::Debug for Mlp<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Mlp").field("layers", &self.layers).finish_non_exhaustive()
    }
}
