//! A perceptron of dense layers, its training step, and its predictions.

mod inference;
mod layers;
mod pass;
mod saved;
mod training;

use backend_api::{Queue, Real};
use rand_core::Rng;

use self::layers::DenseLayers;
pub use self::{inference::MlpInference, training::MlpTraining};
use crate::{
    Activation, LinalgOps, TensorOps,
    elementwise::Dropout,
    error::{NnError, Result},
    io::weights::{Tensor, Tensors},
    movement::Overflow,
    optim::{OptimizerConfig, ParameterArena, Precision, layer_copy, layer_copy_mut, layer_weights},
    products::Dense,
    tensor::{Layout, TensorMut, TensorRef},
};

const OP: &str = "mlp";
const TRAIN: &str = "mlp.train_step";

/// A multi-layer perceptron with weights in f32.
///
/// It has dense layers with an activation between them. It is trained on the softmax cross-entropy
/// by any [`Optimizer`](crate::Optimizer).
///
/// Parameters stay on the queue's device. Activations are row-major `[rows, features]`, weights
/// `[inputs, outputs]`. Biases do not decay.
///
/// ```
/// use nn_ops::{Mlp, OptimizerConfig, Tensor};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let q = runtime::cpu()?;
/// let mut network = Mlp::new(&q, &[2, 16, 2], &mut ChaCha8Rng::seed_from_u64(2))?;
/// let x = Tensor::from_values(&q, &[4, 2], &[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0f32])?; // the four inputs of XOR
/// let y = Tensor::from_values(&q, &[4], &[0, 1, 1, 0u32])?;
/// let mut training = network.training(&q, 4, OptimizerConfig::adam_w(0.05))?;
/// for _ in 0..200 {
///     network.train_step(&q, &mut training, x.at(), y.at())?;
/// }
/// assert!(training.loss(&q)? < 0.1);
/// assert_eq!(network.classify(&q, x.at())?, [0, 1, 1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mlp<Q: Queue> {
    layers: DenseLayers,
    values: ParameterArena<Q, f32>,
}

impl<Q: LinalgOps> Mlp<Q> {
    /// Creates a network with `sizes[0]` inputs and `sizes[i]` units in layer `i`.
    ///
    /// There is a ReLU between layers. Biases are zero, and weights are uniform in
    /// `+-sqrt(6 / inputs)` (He et al., arXiv 1502.01852).
    ///
    /// # Errors
    /// [`NnError::Parameter`] for fewer than two sizes, [`NnError::EmptyReduction`] for a size of
    /// 0, [`NnError::NamedTensor`] or [`NnError::Overflow`] if no memory holds a layer,
    /// [`NnError::Backend`].
    pub fn new(q: &Q, sizes: &[usize], rng: &mut impl Rng) -> Result<Self> {
        let layers = DenseLayers::new(sizes)?;
        let mut values = ParameterArena::zeros(q, &layers.table)?; // what does not fit the device is refused before it is drawn
        let uniform = |word: u32| (word >> 8) as f32 / (1 << 24) as f32; // in [0, 1)
        for layer in &layers.layers {
            let limit = (6.0 / layer.inputs() as f32).sqrt();
            let count = layer.inputs() * layer.outputs(); // an addressable number
            let drawn: Vec<f32> = (0..count).map(|_| limit * (2.0 * uniform(rng.next_u32()) - 1.0)).collect();
            values.write(q, layer.weight(), &drawn)?;
        }
        Ok(Self { layers, values })
    }

    /// A network with ReLU between the layers `names`, from named tensors.
    ///
    /// The names are as in the result of [`tensors`](Self::tensors): `name.weight`, row-major
    /// `[inputs, outputs]`, and `name.bias`. Other tensors are ignored. Weights stored as
    /// `[outputs, inputs]` are for [`from_torch`](Self::from_torch): if a layer has equally many
    /// inputs and outputs, its shape does not tell the two apart.
    ///
    /// # Errors
    /// [`NnError::Parameter`] without layers; [`NnError::MissingTensor`] if a tensor is not there;
    /// [`NnError::NamedTensor`] if it does not fit a layer, the layer before it, or its own number
    /// of elements; otherwise as [`new`](Self::new).
    pub fn import(q: &Q, names: &[&str], tensors: &Tensors) -> Result<Self> {
        Self::from_tensors(q, names, tensors, false)
    }

    /// [`import`](Self::import) of weights `[outputs, inputs]`, as `torch.nn.Linear` has them.
    ///
    /// In the state dict of a `torch.nn.Sequential` the names are numbers, such as `0` and `2` with
    /// an activation between them.
    ///
    /// # Errors
    /// As [`import`](Self::import).
    pub fn from_torch(q: &Q, names: &[&str], tensors: &Tensors) -> Result<Self> {
        Self::from_tensors(q, names, tensors, true)
    }

    fn from_tensors(q: &Q, names: &[&str], tensors: &Tensors, outputs_first: bool) -> Result<Self> {
        let find = |name: &str, part: &str| {
            let name = format!("{name}.{part}");
            tensors.get(&name).ok_or(NnError::MissingTensor { name })
        };
        if names.is_empty() {
            return Err(NnError::parameter(OP, "number of layers", "1 or more", 0.0));
        }
        // Inputs and outputs as the shape that a file has, and the other way round.
        let ordered = |inputs, outputs| if outputs_first { [outputs, inputs] } else { [inputs, outputs] };
        let mut sizes = Vec::new();
        for name in names {
            let (weight, bias) = (find(name, "weight")?, find(name, "bias")?);
            let of_weight = |reason| NnError::named(format!("{name}.weight"), reason);
            let &[first, second] = &weight.shape[..] else {
                let got = weight.shape.len();
                return Err(of_weight(NnError::Rank { op: OP, tensor: "weight", expected: 2, got }));
            };
            let [inputs, outputs] = ordered(first, second);
            let expected = *sizes.last().unwrap_or(&inputs);
            if inputs != expected {
                return Err(of_weight(NnError::shape(OP, "weight", ordered(expected, outputs), [first, second])));
            }
            if bias.shape != [outputs] {
                let reason = NnError::shape(OP, "bias", [outputs], &bias.shape[..]);
                return Err(NnError::named(format!("{name}.bias"), reason));
            }
            if sizes.is_empty() {
                sizes.push(inputs);
            }
            sizes.push(outputs);
        }
        let layers = DenseLayers::new(&sizes)?;
        let mut values = ParameterArena::zeros(q, &layers.table)?;
        for (name, layer) in names.iter().zip(&layers.layers) {
            let mut write = |part: &str, id, data: &[f32]| {
                values.write(q, id, data).map_err(|reason| renamed(reason, format!("{name}.{part}")))
            };
            let weight = find(name, "weight")?;
            if outputs_first {
                write("weight", layer.weight(), &turned(&weight.data, layer.inputs()))?;
            } else {
                write("weight", layer.weight(), &weight.data)?;
            }
            write("bias", layer.bias(), &find(name, "bias")?.data)?;
        }
        Ok(Self { layers, values })
    }

    /// The same network with `f` between its layers.
    #[must_use]
    pub fn with_activation(self, f: Activation) -> Self {
        Self { layers: DenseLayers { hidden: f, ..self.layers }, ..self }
    }

    /// The same network with dropout after each activation while it is trained.
    ///
    /// Layer i uses the masks of site i. Step t of its training, counted from 0, uses the masks of
    /// step t, in replays as well.
    #[must_use]
    pub fn with_dropout(self, dropout: Dropout) -> Self {
        Self { layers: DenseLayers { dropout: Some(dropout), ..self.layers }, ..self }
    }

    /// Inputs, then the units of each layer.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        self.layers.sizes()
    }

    /// The weights and biases.
    ///
    /// Their names are `layers.0.weight`, `layers.0.bias`, `layers.1.weight` and so on.
    #[must_use]
    pub fn values(&self) -> &ParameterArena<Q, f32> {
        &self.values
    }

    /// The layers, as tensors of [`values`](Self::values).
    #[must_use]
    pub fn layers(&self) -> &[Dense] {
        &self.layers.layers
    }

    /// Writes the logits `[rows, classes]` of inputs `[rows, features]`.
    ///
    /// # Errors
    /// [`NnError::Rank`], [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for tensors that
    /// do not fit, [`NnError::Backend`].
    pub fn forward(&self, q: &Q, x: TensorRef<'_, Q, f32>, logits: TensorMut<'_, Q, f32>) -> Result<()> {
        self.layers.forward(q, &self.values, x, logits)
    }

    /// The parameters as named tensors.
    ///
    /// The names are `names[i].weight` (`[inputs, outputs]`) and `names[i].bias`. Waits for them.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] unless there is a name for each layer, [`NnError::Backend`].
    pub fn tensors(&self, q: &Q, names: &[&str]) -> Result<Tensors> {
        let layers = &self.layers.layers;
        if names.len() != layers.len() {
            return Err(NnError::shape("mlp.tensors", "names", [layers.len()], [names.len()]));
        }
        let mut tensors = Tensors::new();
        for (layer, name) in layers.iter().zip(names) {
            for (part, id) in [("weight", layer.weight()), ("bias", layer.bias())] {
                let shape = self.values.table().layout(id)?.shape().to_vec();
                tensors.insert(format!("{name}.{part}"), Tensor { shape, data: self.values.values(q, id)? });
            }
        }
        Ok(tensors)
    }
}

impl<Q: LinalgOps + TensorOps> Mlp<Q> {
    /// The class with the largest logit of each row, by [`arg_max`](crate::arg_max).
    ///
    /// Among equal logits, it is the first. If there is a NaN, it is the first NaN.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn classify(&self, q: &Q, x: TensorRef<'_, Q, f32>) -> Result<Vec<u32>> {
        self.layers.classify(q, &self.values, x)
    }

    /// Starts a training in `T`, by steps on batches of up to `rows` rows.
    ///
    /// It uses the network's current activation and dropout. In f16 small gradients need a
    /// [`loss_scale`](OptimizerConfig::loss_scale).
    ///
    /// # Errors
    /// [`NnError::Overflow`] if no memory holds that many rows; [`NnError::Range`] for weights
    /// beyond the range of `T`; otherwise as [`Optimizer::new`](crate::Optimizer::new).
    pub fn training<T: Precision>(&self, q: &Q, rows: usize, config: OptimizerConfig) -> Result<MlpTraining<Q, T>> {
        MlpTraining::new(q, &self.layers, rows, config, layer_copy(q, &self.values)?)
    }

    /// Takes one step on the mean cross-entropy of a batch.
    ///
    /// Inputs are `[rows, features]` and targets `[rows]`. [`loss`](MlpTraining::loss) then returns
    /// that cross-entropy, from before the step.
    ///
    /// It takes no memory of the queue beyond what single ops need, and waits for nothing, so it
    /// can be recorded: [`Record`](backend_api::Record). A recording keeps the buffers that it was
    /// given.
    ///
    /// # Errors
    /// [`NnError::Rank`], [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] if inputs and
    /// targets do not fit the network or each other, or the training is for fewer rows or for a
    /// network of other sizes; [`NnError::OtherPlan`] for the training of another network, or of
    /// this one with another activation or dropout; [`NnError::EmptyReduction`] for an empty batch;
    /// [`NnError::Backend`]. Unless the device failed or a view is of another one, nothing has
    /// changed.
    pub fn train_step<T: Precision>(
        &mut self,
        q: &Q,
        training: &mut MlpTraining<Q, T>,
        x: TensorRef<'_, Q, T>,
        targets: TensorRef<'_, Q, u32>,
    ) -> Result<()> {
        // The batch is checked before anything changes.
        let layers = &self.layers;
        let rows = layers.rows(TRAIN, x.layout())?;
        Layout::contiguous(&[rows])?.admit(TRAIN, "targets", targets.layout())?;
        if rows == 0 {
            return Err(NnError::EmptyReduction { op: TRAIN });
        }
        training.begin(TRAIN, layers, rows)?;
        // Both passes, then the step.
        training.pass.forward(q, layers, layer_weights(&self.values, &training.copy), x, &training.optimizer)?;
        training.differentiate_loss(q, targets)?;
        training.pass.backward(q, layers, layer_weights(&self.values, &training.copy), x, &training.optimizer)?;
        let copy = layer_copy_mut(&mut training.copy);
        training.optimizer.step(q, training.pass.gradients.view(), self.values.view_mut(), copy)?;
        training.end();
        Ok(())
    }

    /// The network with its weights rounded to `T`, to predict with.
    ///
    /// # Errors
    /// [`NnError::Range`] for weights beyond the range of `T` if those are refused,
    /// [`NnError::Backend`].
    pub fn narrowed<T: Real>(&self, q: &Q, overflow: Overflow) -> Result<MlpInference<Q, T>> {
        Ok(MlpInference { layers: self.layers.clone(), values: self.values.narrowed(q, overflow)? })
    }
}

/// Weights `[outputs, inputs]` as `[inputs, outputs]`.
fn turned(data: &[f32], inputs: usize) -> Vec<f32> {
    (0..inputs).flat_map(|input| data.iter().skip(input).step_by(inputs).copied()).collect()
}

/// A fault of a tensor under the name that it was given by.
fn renamed(error: NnError, name: String) -> NnError {
    match error {
        NnError::NamedTensor { reason, .. } => NnError::NamedTensor { name, reason },
        other => other,
    }
}

debug_fields!(Mlp<Q: Queue> layers);
