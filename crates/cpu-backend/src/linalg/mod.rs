//! Dense linear algebra and neural-network ops.

mod activation;
mod convert;
mod elementwise;
mod gemm;
mod loss;
mod rows;
mod small;
pub(crate) mod vmath;
