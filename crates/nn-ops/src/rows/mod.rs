//! Softmax, norms, losses, sums and extremes along axes.

pub(crate) mod loss;
mod mask;
pub(crate) mod norm;
pub(crate) mod reduce;
pub(crate) mod softmax;
pub(crate) mod sum;

pub use loss::{CrossEntropyPlan, CrossEntropyResults, cross_entropy, cross_entropy_probs};
pub use mask::Mask;
pub use norm::{NormAffine, NormGradients, NormPlan, NormResults, NormSaved};
pub use reduce::{ReducePlan, arg_max, reduce};
pub use softmax::SoftmaxPlan;
pub use sum::{SumPlan, sum_axis};
