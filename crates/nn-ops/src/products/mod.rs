//! Matrix products, and the dense layers that are made of them.

mod dense;
mod linear;
pub(crate) mod matmul;

pub use dense::{Dense, DenseGradients, DensePlan};
pub use linear::{
    LinearBackwardPlan, LinearGradients, LinearOperands, LinearPlan, LinearSaved, linear, linear_backward,
};
pub use matmul::{GemmPlan, matmul, matmul_backward_lhs, matmul_backward_rhs};
