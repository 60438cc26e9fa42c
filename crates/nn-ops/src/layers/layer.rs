//! The passes that every layer has.

use super::{mode::Mode, parameters::Parameters, saved::Saved};
use crate::{
    LinalgOps, RecurrentOps, TensorOps,
    error::Result,
    optim::ParameterArena,
    tensor::{Tensor, TensorRef},
};

/// The op sets that layers use.
///
/// Every queue that has the three sets implements it.
pub trait LayerOps: LinalgOps + TensorOps + RecurrentOps {}

impl<Q: LinalgOps + TensorOps + RecurrentOps> LayerOps for Q {}

/// A layer with one input and one output, in f32.
///
/// Inputs and gradients are row-major. Parameters are among the tensors of an arena, and their
/// gradients among the tensors of another arena of the same table.
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
    fn forward<Q: LayerOps>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, f32>,
        mode: Mode,
        x: TensorRef<'_, Q, f32>,
    ) -> Result<(Tensor<Q, f32>, Saved<Q>)>;

    /// Returns the gradient of x, and adds the gradients of the parameters to `gradients`.
    ///
    /// `x` and `values` are the same as in the forward pass, and `g` is the gradient of its output.
    ///
    /// # Errors
    /// [`NnError::NoGradient`](crate::NnError::NoGradient) for the state of a pass in
    /// [`Mode::Inference`], [`NnError::OtherPlan`](crate::NnError::OtherPlan) for the state of
    /// another kind of layer,
    /// [`BackendError::MixedBackend`](backend_api::BackendError::MixedBackend) for a state on
    /// another kind of device; otherwise as [`forward`](Self::forward).
    fn backward<Q: LayerOps>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, f32>,
        saved: Saved<Q>,
        x: TensorRef<'_, Q, f32>,
        g: TensorRef<'_, Q, f32>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<Tensor<Q, f32>>;

    /// Computes the output of `x` in [`Mode::Inference`].
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    fn apply<Q: LayerOps>(
        &self,
        q: &Q,
        values: &ParameterArena<Q, f32>,
        x: TensorRef<'_, Q, f32>,
    ) -> Result<Tensor<Q, f32>> {
        Ok(self.forward(q, values, Mode::Inference, x)?.0)
    }
}
