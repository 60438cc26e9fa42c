//! Dense linear algebra and neural-network ops.

mod activate;
mod activate_backward;
mod axpby;
mod binary;
mod cross_entropy;
mod cross_entropy_probs;
mod dropout;
mod gemm;
mod rows;
mod sum_axis;

pub use activate::Activate;
pub use activate_backward::ActivateBackward;
pub use axpby::Axpby;
pub use binary::Binary;
pub use cross_entropy::CrossEntropy;
pub use cross_entropy_probs::CrossEntropyProbs;
pub use dropout::Dropout;
pub use gemm::Gemm;
pub use rows::{
    AddLayerNorm, LayerNorm, LayerNormBackward, LogSoftmax, LogSoftmaxBackward, RmsNorm, RmsNormBackward, RowMask,
    Softmax, SoftmaxBackward,
};
pub use sum_axis::SumAxis;

pub use super::sets::{ElementwiseOps, GemmOps, LossOps, RowOps};
use super::{correction::CorrectionOps, factor::FactorOps, optim::OptimOps};

/// The op sets of neural networks.
///
/// Matrix products, row-wise normalisations, elementwise maps, losses, and steps of factorisations,
/// of corrections and of optimisers.
pub trait LinalgOps: GemmOps + RowOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps {}

impl<Q: GemmOps + RowOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps> LinalgOps for Q {}
