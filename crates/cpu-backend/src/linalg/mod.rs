//! Dense linear algebra and neural-network ops.

pub(crate) mod activation;
mod attention;
mod axes;
pub(crate) mod binary;
pub(crate) mod convert;
pub(crate) mod dropout;
mod elementwise;
pub(crate) mod fold;
mod gemm;
mod loss;
pub(crate) mod reals;
mod rows;
mod small;
pub(crate) mod vmath;
