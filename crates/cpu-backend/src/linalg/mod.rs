//! Dense linear algebra and neural-network ops.

mod activation;
mod convert;
mod elementwise;
mod gemm;
pub(crate) mod lanes;
mod loss;
mod rows;
mod small;
mod vmath;

pub(crate) use lanes::{Kernel, Lanes, dispatch};
