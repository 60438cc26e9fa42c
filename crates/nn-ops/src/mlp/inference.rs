//! A perceptron that only predicts, in any type.

use backend_api::{Queue, Real};

use super::layers::DenseLayers;
use crate::{
    ElementwiseOps, GemmOps, TensorOps,
    error::Result,
    optim::ParameterArena,
    tensor::{TensorMut, TensorRef},
};

/// The weights of an [`Mlp`](super::Mlp) rounded to `T`, for inference.
///
/// With 16 bits, they take half the bytes.
pub struct MlpInference<Q: Queue, T: Real> {
    pub(super) layers: DenseLayers,
    pub(super) values: ParameterArena<Q, T>,
}

impl<Q: GemmOps + ElementwiseOps, T: Real> MlpInference<Q, T> {
    /// Writes the logits `[rows, classes]` of inputs `[rows, features]`.
    ///
    /// # Errors
    /// As [`Mlp::forward`](super::Mlp::forward).
    pub fn forward(&self, q: &Q, x: TensorRef<'_, Q, T>, logits: TensorMut<'_, Q, T>) -> Result<()> {
        self.layers.forward(q, &self.values, x, logits)
    }
}

impl<Q: GemmOps + ElementwiseOps + TensorOps, T: Real> MlpInference<Q, T> {
    /// The class with the largest logit of each row.
    ///
    /// The result is as in [`Mlp::classify`](super::Mlp::classify).
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn classify(&self, q: &Q, x: TensorRef<'_, Q, T>) -> Result<Vec<u32>> {
        self.layers.classify(q, &self.values, x)
    }
}

debug_fields!(MlpInference<Q: Queue, T: Real> layers);
