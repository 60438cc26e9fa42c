//! Dense neural-network operators, forward and backward.
//!
//! Operators take views of a queue's buffers with a [`Layout`], check shapes before any device work, and run on whatever
//! device the queue stands for. Elements are f32, f16 or bf16; sums and functions are computed in f32.
#![forbid(unsafe_code)]

mod error;
pub mod io;
mod mask;
mod mlp;
mod norm;
mod softmax;
mod tensor;
mod view;

pub use error::{NnError, Shape};
pub use mask::Mask;
pub use mlp::{Mlp, Sgd};
pub use norm::{NormPlan, NormSaved};
pub use softmax::SoftmaxPlan;
pub use tensor::{Layout, TensorMut, TensorRef};
