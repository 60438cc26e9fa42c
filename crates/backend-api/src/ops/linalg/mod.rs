//! Dense linear algebra and neural-network ops.

mod attention;
mod elementwise;
mod gemm;
mod loss;
mod rows;

pub use attention::{Attention, AttentionBackward};
pub use elementwise::{Activate, ActivateBackward, Axpby, Binary, BinaryScalar, Dropout, SumAxis};
pub use gemm::Gemm;
pub use loss::{CrossEntropy, CrossEntropyProbs};
pub use rows::{
    AddLayerNorm, LayerNorm, LayerNormBackward, RmsNorm, RmsNormBackward, RowMask, Softmax, SoftmaxBackward,
};

pub use super::sets::{AttentionOps, ElementwiseOps, GemmOps, LossOps, RowOps};
use super::{correction::CorrectionOps, factor::FactorOps, optim::OptimOps};

/// The op sets of neural networks.
///
/// Matrix products, row-wise normalisations, attention, elementwise maps, losses, and steps of
/// factorisations, of corrections and of optimizers.
pub trait LinalgOps:
    GemmOps + RowOps + AttentionOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps
{
}

impl<Q: GemmOps + RowOps + AttentionOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps> LinalgOps
    for Q
{
}
