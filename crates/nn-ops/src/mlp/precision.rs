//! The precision in which a network is trained.

use backend_api::{Queue, Real};
use half::{bf16, f16};

use super::{TRAIN, training::MlpTraining};
use crate::{
    LinalgOps, TensorOps,
    error::{NnError, Result},
    movement::Overflow,
    optim::ParameterArena,
    tensor::TensorRef,
};

/// A type in which a network is trained: f32, f16 or bf16.
///
/// Weights are in f32 always. With a type of 16 bits a rounded copy of them goes through the
/// layers, and the loss is computed in f32.
pub trait Precision: sealed::Passes {}

impl<T: sealed::Passes> Precision for T {}

mod sealed {
    use super::{
        LinalgOps, MlpTraining, NnError, Overflow, ParameterArena, Queue, Real, Result, TRAIN, TensorOps, TensorRef,
    };

    /// The differences between passes in f32 and in 16 bits. The defaults are for 16 bits.
    pub trait Passes: Real {
        /// A copy of the weights for the layers; `None` if the layers read the weights themselves.
        fn copied<Q: TensorOps>(q: &Q, weights: &ParameterArena<Q, f32>) -> Result<Option<ParameterArena<Q, Self>>> {
            weights.narrowed(q, Overflow::Refuse).map(Some)
        }

        /// The weights that the layers read: `copy`, or `weights` if no copy is needed.
        fn passed<'a, Q: Queue>(
            weights: &'a ParameterArena<Q, f32>,
            copy: Option<&'a ParameterArena<Q, Self>>,
        ) -> Result<&'a ParameterArena<Q, Self>> {
            let expected = weights.table().len();
            copy.ok_or(NnError::Length { op: TRAIN, tensor: "copy", expected, got: 0 })
        }

        /// Computes the losses of a batch, and the gradient of the logits.
        fn differentiate_loss<Q: LinalgOps + TensorOps>(
            q: &Q,
            training: &mut MlpTraining<Q, Self>,
            targets: TensorRef<'_, Q, u32>,
        ) -> Result<()> {
            training.differentiate_wide_loss(q, targets)
        }
    }
}

impl sealed::Passes for f16 {}

impl sealed::Passes for bf16 {}

impl sealed::Passes for f32 {
    fn copied<Q: TensorOps>(_: &Q, _: &ParameterArena<Q, f32>) -> Result<Option<ParameterArena<Q, Self>>> {
        Ok(None)
    }

    fn passed<'a, Q: Queue>(
        weights: &'a ParameterArena<Q, f32>,
        _: Option<&'a ParameterArena<Q, Self>>,
    ) -> Result<&'a ParameterArena<Q, Self>> {
        Ok(weights)
    }

    fn differentiate_loss<Q: LinalgOps + TensorOps>(
        q: &Q,
        training: &mut MlpTraining<Q, Self>,
        targets: TensorRef<'_, Q, u32>,
    ) -> Result<()> {
        training.differentiate_loss(q, targets)
    }
}
