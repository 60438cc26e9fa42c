//! Products of matrices, and ops on rows and columns.

mod gemm;
mod rows;
