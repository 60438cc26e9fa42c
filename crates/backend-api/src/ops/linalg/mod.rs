//! Dense linear algebra and neural-network ops.

mod elementwise;
mod gemm;
mod loss;
mod rows;
mod shape;

pub use elementwise::ElementwiseOps;
pub use gemm::GemmOps;
pub use loss::LossOps;
pub use rows::{RowMask, RowOps};
pub use shape::{check_binary, check_gemm, check_len, product};

/// The whole op set: matrix products, row-wise normalisations, elementwise maps and losses.
pub trait LinalgOps: GemmOps + RowOps + ElementwiseOps + LossOps {}

impl<Q: GemmOps + RowOps + ElementwiseOps + LossOps> LinalgOps for Q {}
