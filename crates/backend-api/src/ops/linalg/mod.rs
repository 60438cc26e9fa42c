//! Dense linear algebra and neural-network ops.

mod elementwise;
mod gemm;
mod loss;
mod rows;

pub use elementwise::{Activate, ActivateBackward, Axpby, Binary, Dropout, SumAxis};
pub use gemm::Gemm;
pub use loss::{CrossEntropy, CrossEntropyProbs};
pub use rows::{
    AddLayerNorm, LayerNorm, LayerNormBackward, LogSoftmax, LogSoftmaxBackward, RmsNorm, RmsNormBackward, RowMask,
    Softmax, SoftmaxBackward,
};

pub use super::sets::{ElementwiseOps, GemmOps, LossOps, RowOps};
use super::{correction::CorrectionOps, factor::FactorOps, optim::OptimOps};

/// The op sets of neural networks.
///
/// Matrix products, row-wise normalisations, elementwise maps, losses, and steps of factorisations,
/// of corrections and of optimisers.
pub trait LinalgOps: GemmOps + RowOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps {}

impl<Q: GemmOps + RowOps + ElementwiseOps + LossOps + FactorOps + CorrectionOps + OptimOps> LinalgOps for Q {}
