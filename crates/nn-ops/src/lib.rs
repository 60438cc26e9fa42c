//! Dense neural-network operators, forward and backward.
//!
//! Operators take views of a queue's buffers with a [`Layout`], check shapes before any device work, and run on whatever
//! device the queue stands for. Elements are f32, f16 or bf16; sums and functions are computed in f32.
#![forbid(unsafe_code)]

mod dropout;
mod elementwise;
mod error;
pub mod io;
mod linear;
mod loss;
mod mask;
mod matmul;
mod mlp;
mod norm;
mod softmax;
mod tensor;
mod view;

pub use core_types::params::elementwise::{Activation, Binary};
pub use dropout::Dropout;
pub use elementwise::{activate, activate_backward, axpby, binary, sgd_step, sum_axis};
pub use error::{NnError, Shape};
pub use linear::{LinearGradients, linear, linear_backward};
pub use loss::{cross_entropy, cross_entropy_probs};
pub use mask::Mask;
pub use matmul::{GemmPlan, matmul, matmul_backward_lhs, matmul_backward_rhs};
pub use mlp::{Mlp, MlpWorkspace, Sgd};
pub use norm::{NormPlan, NormSaved};
pub use softmax::SoftmaxPlan;
pub use tensor::{Layout, TensorMut, TensorRef};
