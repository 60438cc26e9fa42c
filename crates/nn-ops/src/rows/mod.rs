//! Softmax, norms, losses, sums and extremes along axes.

mod loss;
mod mask;
mod norm;
mod reduce;
mod softmax;
mod sum;

pub use loss::{CrossEntropyPlan, CrossEntropyResults, cross_entropy, cross_entropy_probs};
pub use mask::Mask;
pub use norm::{NormAffine, NormGradients, NormPlan, NormResults, NormSaved};
pub use reduce::{ReducePlan, arg_max, reduce};
pub use softmax::SoftmaxPlan;
pub use sum::{SumPlan, sum_axis};
