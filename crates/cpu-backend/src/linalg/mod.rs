//! Dense linear algebra and neural-network ops.

pub(crate) mod activation;
mod attention;
mod axes;
mod binary;
pub(crate) mod convert;
mod dropout;
mod elementwise;
pub(crate) mod fold;
mod gemm;
mod loss;
pub(crate) mod reals;
mod rows;
mod small;
pub(crate) mod vmath;
