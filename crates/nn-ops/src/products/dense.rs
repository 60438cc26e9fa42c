//! A dense layer of a model, and the plan of its passes over batches of one size.

use backend_api::{Queue, Real};

use super::{
    linear::{LinearBackwardPlan, LinearGradients},
    matmul::GemmPlan,
};
use crate::{
    Activation, ElementwiseOps, GemmOps, TensorOps,
    error::{NnError, Result},
    optim::{ParameterArena, ParameterId, ParameterSpec, ParameterTable},
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const OP: &str = "dense";
const WEIGHT: &str = "weight";
const BIAS: &str = "bias";

/// A dense layer: its weights and biases among the tensors of a table.
///
/// Weights are `[inputs, outputs]`, and biases `[outputs]`.
///
/// ```
/// use nn_ops::{Activation, Dense, DenseGradients, Optimizer, OptimizerConfig, ParameterArena, ParameterTable, Tensor};
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&Dense::specs("first", [2, 3]))?;
/// let layer = Dense::find(&table, "first")?;
/// let (mut values, mut gradients) = (ParameterArena::zeros(&q, &table)?, ParameterArena::zeros(&q, &table)?);
/// let (x, mut y) = (Tensor::from_values(&q, &[4, 2], &[1.0f32; 8])?, Tensor::alloc(&q, &[4, 3])?);
/// let d = Tensor::from_values(&q, &[4, 3], &[0.1f32; 12])?; // the gradient of the output before its activation
///
/// let plan = layer.plan(4, Activation::Relu)?; // for batches of four rows
/// plan.forward(&q, &layer, &values, x.at(), y.at_mut())?;
/// let of = DenseGradients { output: d.at(), parameters: &mut gradients, input: None };
/// plan.backward(&q, &layer, &values, x.at(), of)?;
/// let mut optimizer = Optimizer::new(&q, OptimizerConfig::sgd(1.0, 0.0), &table)?;
/// optimizer.step(&q, gradients.view(), values.view_mut(), None)?;
/// assert_eq!(values.values(&q, layer.bias())?, [-0.4f32; 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dense {
    weight: ParameterId,
    bias: ParameterId,
    inputs: usize,
    outputs: usize,
}

impl Dense {
    /// The tensors `name.weight` and `name.bias` of a layer; biases do not decay.
    #[must_use]
    pub fn specs(name: &str, [inputs, outputs]: [usize; 2]) -> [ParameterSpec; 2] {
        [
            ParameterSpec::new(format!("{name}.{WEIGHT}"), &[inputs, outputs]),
            ParameterSpec::new(format!("{name}.{BIAS}"), &[outputs]).without_decay(),
        ]
    }

    /// The layer of the tensors `name.weight` and `name.bias`.
    ///
    /// # Errors
    /// [`NnError::MissingTensor`] if one is not there, [`NnError::NamedTensor`] if it has another
    /// shape than a layer's.
    pub fn find(table: &ParameterTable, name: &str) -> Result<Self> {
        let (weight_name, bias_name) = (format!("{name}.{WEIGHT}"), format!("{name}.{BIAS}"));
        let (weight, bias) = (table.id(&weight_name)?, table.id(&bias_name)?);
        let lengths = table.layout(weight)?.lengths(OP, WEIGHT);
        let [inputs, outputs] = lengths.map_err(|reason| NnError::named(weight_name, reason))?;
        let got = table.layout(bias)?.shape();
        if got != [outputs] {
            return Err(NnError::named(bias_name, NnError::shape(OP, BIAS, [outputs], got)));
        }
        Ok(Self { weight, bias, inputs, outputs })
    }

    /// The weights.
    #[must_use]
    pub fn weight(&self) -> ParameterId {
        self.weight
    }

    /// The biases.
    #[must_use]
    pub fn bias(&self) -> ParameterId {
        self.bias
    }

    /// Features of a row of the input.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Features of a row of the output.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// A plan for batches of `rows` rows, with activation `f`.
    ///
    /// # Errors
    /// [`NnError::Overflow`] if no memory holds that many rows.
    pub fn plan(&self, rows: usize, f: Activation) -> Result<DensePlan> {
        DensePlan::new(rows, [self.inputs, self.outputs], f)
    }
}

/// The gradient of a [`Dense`] layer's output, and where the other gradients go.
#[derive(Debug)]
pub struct DenseGradients<'a, Q: Queue + 'a, T: Real> {
    /// The gradient of the output before its activation, row-major `[rows, outputs]`.
    pub output: TensorRef<'a, Q, T>,
    /// Where the gradients of weights and biases go: an arena of the table of the values.
    pub parameters: &'a mut ParameterArena<Q, T>,
    /// Where the gradient of the input goes, row-major `[rows, inputs]`, if it is needed.
    pub input: Option<TensorMut<'a, Q, T>>,
}

/// The passes of a [`Dense`] layer over batches of one size, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct DensePlan {
    input: Layout,
    output: Layout,
    weight: Layout,
    bias: Layout,
    forward: GemmPlan,
    backward: LinearBackwardPlan,
}

impl DensePlan {
    /// A plan for `rows` rows, from `inputs` to `outputs` features, with activation `f`.
    ///
    /// # Errors
    /// [`NnError::Overflow`] if no memory holds that many rows.
    pub fn new(rows: usize, [inputs, outputs]: [usize; 2], f: Activation) -> Result<Self> {
        let (input, output) = (Layout::of(OP, &[rows, inputs])?, Layout::of(OP, &[rows, outputs])?);
        let (weight, bias) = (Layout::of(OP, &[inputs, outputs])?, Layout::of(OP, &[outputs])?);
        let forward = GemmPlan::build(OP, [("x", &input), ("layer", &weight), ("y", &output)], f, false)?;
        Ok(Self { input, output, weight, bias, forward, backward: LinearBackwardPlan::new(&input, &weight)? })
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
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a layer or a tensor of another
    /// shape, [`NnError::Axis`] for values of another table, [`NnError::Backend`] from the device.
    pub fn forward<Q: GemmOps + ElementwiseOps, T: Real>(
        &self,
        q: &Q,
        layer: &Dense,
        values: &ParameterArena<Q, T>,
        x: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (x, y) = (x.planned(OP, "x", &self.input)?, y.planned(OP, "y", &self.output)?);
        let weight = values.at(layer.weight)?.planned(OP, "layer", &self.weight)?;
        let bias = values.at(layer.bias)?.planned(OP, "layer", &self.bias)?;
        self.forward.launch(q, x, weight, Some(bias), y)
    }

    /// Overwrites the layer's gradients, from the input and the gradient of the output.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn backward<Q: GemmOps + ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        layer: &Dense,
        values: &ParameterArena<Q, T>,
        x: TensorRef<'_, Q, T>,
        gradients: DenseGradients<'_, Q, T>,
    ) -> Result<()> {
        const BACKWARD: &str = "dense_backward";
        let DenseGradients { output, parameters, input } = gradients;
        self.input.admit(BACKWARD, "x", x.layout())?;
        self.output.admit(BACKWARD, "d", output.layout())?;
        input.as_ref().map_or(Ok(()), |dx| self.input.admit(BACKWARD, "dx", dx.layout()))?;
        let weight = values.at(layer.weight)?;
        self.weight.admit(BACKWARD, "layer", weight.layout())?;
        let [of_weight, of_bias] = parameters.at_mut_each([layer.weight, layer.bias])?;
        self.weight.admit(BACKWARD, "layer", of_weight.layout())?;
        self.bias.admit(BACKWARD, "layer", of_bias.layout())?;
        self.backward.run(q, x, weight, output, LinearGradients { x: input, w: of_weight, bias: Some(of_bias) })
    }
}
