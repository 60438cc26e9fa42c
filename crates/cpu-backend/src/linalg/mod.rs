//! Dense linear algebra and neural-network ops.

mod activation;
mod axes;
mod binary;
mod convert;
mod elementwise;
mod fold;
mod gemm;
mod loss;
mod rows;
mod small;
mod vmath;
