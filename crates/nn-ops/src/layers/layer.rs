//! The passes that every layer has.

use super::{mode::Mode, parameters::Parameters, saved::Saved};
use crate::{
    LinalgOps, RecurrentOps, TensorOps,
    error::Result,
    optim::{ParameterArena, Precision},
    tensor::{Tensor, TensorRef},
};

/// The op sets that layers use.
///
/// Every queue that has the three sets implements it.
pub trait LayerOps: LinalgOps + TensorOps + RecurrentOps {}

impl<Q: LinalgOps + TensorOps + RecurrentOps> LayerOps for Q {}

/// A layer with one input and one output.
///
/// Inputs and gradients are row-major. Parameters are among the tensors of an arena, and their
/// gradients among the tensors of another arena of the same table.
///
/// Activations and the parameters that layers read are in `T`: f32, f16 or bf16. Products, softmax
/// and norms add up in f32 and have their statistics in f32. Gradients of parameters are added in
/// f32: with 16 bits, the gradient that a product or a norm computes is rounded to `T` once before,
/// as in PyTorch's `autocast`. [`MasterWeights`](crate::MasterWeights) has the parameters in `T`.
///
/// ```
/// use nn_ops::{Layer, LayerNorm, Mode, ParameterArena, ParameterTable, Parameters, Tensor};
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&LayerNorm::specs("norm", 2))?;
/// let norm = LayerNorm::find(&table, "norm", 0.0)?;
/// let (mut values, mut gradients) = (ParameterArena::zeros(&q, &table)?, ParameterArena::zeros(&q, &table)?);
/// norm.initialize(&q, &mut values, 0)?;
///
/// let x = Tensor::from_values(&q, &[2, 2], &[1.0f32, 3.0, 4.0, 2.0])?;
/// let (y, saved) = norm.forward(&q, &values, Mode::Training { step: 0 }, x.at())?;
/// for (y, expected) in y.values(&q)?.into_iter().zip([-1.0, 1.0, 1.0, -1.0]) {
///     assert!((y - expected).abs() < 1e-6f32);
/// }
/// let g = Tensor::from_values(&q, &[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
/// let of_x = norm.backward(&q, &values, saved, x.at(), g.at(), &mut gradients)?;
/// assert_eq!(of_x.layout().shape(), [2, 2]);
/// assert_eq!(gradients.values(&q, table.id("norm.bias")?)?, [4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Layer: Parameters {
    /// Computes the output of `x`, and the state that the backward pass takes.
    ///
    /// # Errors
    /// [`NnError::TooFewAxes`](crate::NnError::TooFewAxes),
    /// [`NnError::Rank`](crate::NnError::Rank),
    /// [`NnError::ShapeMismatch`](crate::NnError::ShapeMismatch) or
    /// [`NnError::InvalidStride`](crate::NnError::InvalidStride) for an input that the layer does
    /// not take, [`NnError::Axis`](crate::NnError::Axis) for values of another table,
    /// [`NnError::Backend`](crate::NnError::Backend) from the device.
    fn forward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        mode: Mode,
        x: TensorRef<'_, Q, T>,
    ) -> Result<(Tensor<Q, T>, Saved<Q, T>)>;

    /// Returns the gradient of x, and adds the gradients of the parameters to `gradients`.
    ///
    /// `x` and `values` are the same as in the forward pass, and `g` is the gradient of its output.
    ///
    /// # Errors
    /// [`NnError::NoGradient`](crate::NnError::NoGradient) for the state of a pass in
    /// [`Mode::Inference`], [`NnError::OtherPlan`](crate::NnError::OtherPlan) for the state of
    /// another kind of layer,
    /// [`BackendError::MixedBackend`](backend_api::BackendError::MixedBackend) for a state on
    /// another kind of device, [`NnError::OtherPlan`](crate::NnError::OtherPlan) for gradients of
    /// another table; otherwise as [`forward`](Self::forward). Nothing is added then, but if the
    /// pass fails after it has begun to add, all gradients of the layer's parameters are zeros,
    /// earlier passes included, and the error is
    /// [`NnError::GradientsCleared`](crate::NnError::GradientsCleared). Only a lost device leaves
    /// them as they are; reading them fails with
    /// [`BackendError::DeviceLost`](backend_api::BackendError::DeviceLost).
    fn backward<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        saved: Saved<Q, T>,
        x: TensorRef<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<Tensor<Q, T>>;

    /// Computes the output of `x` in [`Mode::Inference`].
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    fn apply<Q: LayerOps, T: Precision>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, T>,
        x: TensorRef<'_, Q, T>,
    ) -> Result<Tensor<Q, T>> {
        Ok(self.forward(q, values, Mode::Inference, x)?.0)
    }
}
