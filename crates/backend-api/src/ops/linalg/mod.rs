//! Dense linear algebra and neural-network ops.

mod activate;
mod activate_backward;
mod add_layer_norm;
mod axpby;
mod binary;
mod cross_entropy;
mod cross_entropy_probs;
mod dropout;
mod gemm;
mod layer_norm;
mod layer_norm_backward;
mod log_softmax;
mod log_softmax_backward;
mod mask;
mod rms_norm;
mod rms_norm_backward;
mod softmax;
mod softmax_backward;
mod sum_axis;

pub use activate::Activate;
pub use activate_backward::ActivateBackward;
pub use add_layer_norm::AddLayerNorm;
pub use axpby::Axpby;
pub use binary::Binary;
pub use cross_entropy::CrossEntropy;
pub use cross_entropy_probs::CrossEntropyProbs;
pub use dropout::Dropout;
pub use gemm::Gemm;
pub use layer_norm::LayerNorm;
pub use layer_norm_backward::LayerNormBackward;
pub use log_softmax::LogSoftmax;
pub use log_softmax_backward::LogSoftmaxBackward;
pub use mask::RowMask;
pub use rms_norm::RmsNorm;
pub use rms_norm_backward::RmsNormBackward;
pub use softmax::Softmax;
pub use softmax_backward::SoftmaxBackward;
pub use sum_axis::SumAxis;

pub use super::sets::{ElementwiseOps, GemmOps, LossOps, RowOps};
use super::{correction::CorrectionOps, factor::FactorOps, optim::OptimOps};

/// The op sets of neural networks.
///
/// Matrix products, row-wise normalisations, elementwise maps, losses, and steps of factorisations,
/// of corrections and of optimisers.
pub trait LinalgOps: GemmOps + RowOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps {}

impl<Q: GemmOps + RowOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps> LinalgOps for Q {}
