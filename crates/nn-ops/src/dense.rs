//! A trained dense layer, and the plan of its passes over batches of one size.

use backend_api::{
    Queue,
    ops::linalg::{ElementwiseOps, GemmOps, LinalgOps},
};
use core_types::params::elementwise::Activation;
use rand_core::Rng;

use crate::{
    Layout, LinearBackwardPlan, LinearPlan, NnError, Parameter, Sgd, TensorMut, TensorRef,
    io::{Tensor, Tensors},
    linear::GradientViews,
};

const OP: &str = "dense";
const WEIGHT: &str = "weight";
const BIAS: &str = "bias";

/// A trained dense layer: weights `[inputs, outputs]` and biases `[outputs]` in f32.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{Activation, Dense, Sgd, TensorMut, TensorRef};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let q = runtime::cpu()?;
/// let mut layer = Dense::new(&q, [2, 3], 0.5, &mut ChaCha8Rng::seed_from_u64(1))?;
/// let (x, d) = (q.upload(&[1.0f32; 8])?, q.upload(&[0.1f32; 12])?);
/// let mut y = q.zeros::<f32>(12)?;
///
/// let plan = layer.plan(4, Activation::Relu)?; // for batches of four rows
/// let x = TensorRef::contiguous(x.view(), &[4, 2])?;
/// plan.forward(&q, &layer, x, TensorMut::contiguous(y.view_mut(), &[4, 3])?)?;
/// let d = TensorRef::contiguous(d.view(), &[4, 3])?; // the gradient of the output before its activation
/// plan.backward(&q, &mut layer, x, d, None)?;
/// layer.descend(&q, Sgd { rate: 1.0, momentum: 0.0, decay: 0.0 })?;
/// assert!((q.download(&y)?.len(), layer.bias().tensor(&q)?.data[0]) == (12, -0.4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Dense<Q: Queue> {
    weight: Parameter<Q>,
    bias: Parameter<Q>,
}

impl<Q: ElementwiseOps> Dense<Q> {
    /// A layer with weights drawn uniformly from `-limit..limit` and biases of zero.
    ///
    /// # Errors
    /// As [`Parameter::zeros`].
    pub fn new(q: &Q, [inputs, outputs]: [usize; 2], limit: f32, rng: &mut impl Rng) -> Result<Self, NnError> {
        let weight = Parameter::uniform(q, &[inputs, outputs], limit, rng)?;
        Ok(Self { weight, bias: Parameter::zeros(q, &[outputs])? })
    }

    /// A layer with the values of `weight`, row-major `[inputs, outputs]`, and `bias`, such as were trained elsewhere. Libraries that
    /// store a layer as `[outputs, inputs]`, as PyTorch does, have the transpose of `weight`.
    ///
    /// # Errors
    /// [`NnError::Length`] unless there is a value for each weight and each bias; otherwise as [`Parameter::zeros`].
    pub fn from_values(q: &Q, [inputs, outputs]: [usize; 2], weight: &[f32], bias: &[f32]) -> Result<Self, NnError> {
        let weight = Parameter::holding(q, (OP, WEIGHT), &[inputs, outputs], weight)?;
        Ok(Self { weight, bias: Parameter::holding(q, (OP, BIAS), &[outputs], bias)? })
    }

    /// A layer with the values of the tensors `name.weight` and `name.bias`, as [`export`](Self::export) names and shapes them.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] if one is not there; [`NnError::NamedTensor`] if it has another shape than a layer's, or another
    /// number of elements than its shape; otherwise as [`Parameter::zeros`].
    pub fn import(q: &Q, name: &str, tensors: &Tensors) -> Result<Self, NnError> {
        let (weight_name, weight) = find(tensors, name, WEIGHT)?;
        let (bias_name, bias) = find(tensors, name, BIAS)?;
        let &[_, outputs] = &weight.shape[..] else {
            let reason = NnError::Rank { op: OP, tensor: WEIGHT, expected: 2, got: weight.shape.len() };
            return Err(of_tensor(weight_name, reason));
        };
        if bias.shape != [outputs] {
            let (expected, got) = ([outputs][..].into(), bias.shape[..].into());
            return Err(of_tensor(bias_name, NnError::ShapeMismatch { op: OP, tensor: BIAS, expected, got }));
        }
        let parameter = |part, name, tensor: &Tensor| {
            Parameter::holding(q, (OP, part), &tensor.shape, &tensor.data).map_err(|reason| of_tensor(name, reason))
        };
        Ok(Self { weight: parameter(WEIGHT, weight_name, weight)?, bias: parameter(BIAS, bias_name, bias)? })
    }

    /// The weights.
    #[must_use]
    pub fn weight(&self) -> &Parameter<Q> {
        &self.weight
    }

    /// The biases.
    #[must_use]
    pub fn bias(&self) -> &Parameter<Q> {
        &self.bias
    }

    /// Features of a row of the input.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.weight.layout().shape()[0] // a matrix
    }

    /// Features of a row of the output.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.weight.layout().shape()[1]
    }

    /// A plan for batches of `rows` rows, with activation `f`.
    ///
    /// # Errors
    /// [`NnError::Overflow`] if no memory holds that many rows.
    pub fn plan(&self, rows: usize, f: Activation) -> Result<DensePlan, NnError> {
        DensePlan::new(rows, [self.inputs(), self.outputs()], f)
    }

    /// A step of gradient descent along the gradients of the last backward pass.
    ///
    /// # Errors
    /// As [`Parameter::descend`].
    pub fn descend(&mut self, q: &Q, sgd: Sgd) -> Result<(), NnError> {
        self.weight.descend(q, sgd)?;
        self.bias.descend(q, sgd)
    }

    /// Adds the tensors `name.weight` and `name.bias`.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn export(&self, q: &Q, name: &str, tensors: &mut Tensors) -> Result<(), NnError> {
        tensors.insert(format!("{name}.{WEIGHT}"), self.weight.tensor(q)?);
        tensors.insert(format!("{name}.{BIAS}"), self.bias.tensor(q)?);
        Ok(())
    }
}

/// The tensor `name.part`, with that name.
fn find<'t>(tensors: &'t Tensors, name: &str, part: &str) -> Result<(String, &'t Tensor), NnError> {
    let name = format!("{name}.{part}");
    match tensors.get(&name) {
        Some(tensor) => Ok((name, tensor)),
        None => Err(NnError::MissingTensor { name }),
    }
}

/// `reason` with the name of the tensor whose fault it is.
fn of_tensor(name: String, reason: NnError) -> NnError {
    match reason {
        NnError::Backend(_) => reason,
        reason => NnError::NamedTensor { name, reason: Box::new(reason) },
    }
}

impl<Q: Queue> core::fmt::Debug for Dense<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Dense").field("weight", &self.weight).finish_non_exhaustive()
    }
}

/// The passes of a [`Dense`] layer over batches of one size, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct DensePlan {
    input: Layout,
    output: Layout,
    weight: Layout,
    forward: LinearPlan,
    backward: LinearBackwardPlan,
}

impl DensePlan {
    /// A plan for `rows` rows of `inputs` features each, to `outputs` features, with activation `f`.
    ///
    /// # Errors
    /// [`NnError::Overflow`] if no memory holds that many rows.
    pub fn new(rows: usize, [inputs, outputs]: [usize; 2], f: Activation) -> Result<Self, NnError> {
        let (input, output) = (Layout::of(OP, &[rows, inputs])?, Layout::of(OP, &[rows, outputs])?);
        let weight = Layout::of(OP, &[inputs, outputs])?;
        let forward = LinearPlan::new(&input, &weight, f, &output)?;
        Ok(Self { input, output, weight, forward, backward: LinearBackwardPlan::new(&input, &weight)? })
    }

    /// The layout of the input, row-major `[rows, inputs]`.
    #[must_use]
    pub fn input(&self) -> &Layout {
        &self.input
    }

    /// The layout of the output, row-major `[rows, outputs]`.
    #[must_use]
    pub fn output(&self) -> &Layout {
        &self.output
    }

    /// `y = f(x W + b)`.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a layer or a tensor of another shape, [`NnError::Backend`]
    /// from the device.
    pub fn forward<Q: GemmOps + ElementwiseOps>(
        &self,
        q: &Q,
        layer: &Dense<Q>,
        x: TensorRef<'_, Q, f32>,
        y: TensorMut<'_, Q, f32>,
    ) -> Result<(), NnError> {
        self.admit(OP, layer)?;
        let (x, y) = (x.planned(OP, "x", &self.input)?, y.planned(OP, "y", &self.output)?);
        self.forward.launch(q, x, layer.weight.view(), Some(layer.bias.view()), y)
    }

    /// Overwrites the layer's gradients with those for `d`, the gradient of the output before its activation, and `dx`, if
    /// somebody needs it, with that of the input.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn backward<Q: LinalgOps>(
        &self,
        q: &Q,
        layer: &mut Dense<Q>,
        x: TensorRef<'_, Q, f32>,
        d: TensorRef<'_, Q, f32>,
        dx: Option<TensorMut<'_, Q, f32>>,
    ) -> Result<(), NnError> {
        const BACKWARD: &str = "dense_backward";
        self.admit(BACKWARD, layer)?;
        let (x, d) = (x.planned(BACKWARD, "x", &self.input)?, d.planned(BACKWARD, "d", &self.output)?);
        let dx = dx.map(|dx| dx.planned(BACKWARD, "dx", &self.input)).transpose()?;
        let ((weight, of_weight), (_, of_bias)) = (layer.weight.views(), layer.bias.views());
        self.backward.launch(q, x, weight, d, GradientViews { x: dx, w: of_weight, bias: Some(of_bias) })
    }

    /// Refuses a layer of different sizes.
    fn admit<Q: ElementwiseOps>(&self, op: &'static str, layer: &Dense<Q>) -> Result<(), NnError> {
        self.weight.admit(op, "layer", layer.weight.layout())
    }
}
