//! Dense linear algebra and neural-network ops.

mod elementwise;
mod gemm;
mod lanes;
mod loss;
mod rows;
mod vmath;
