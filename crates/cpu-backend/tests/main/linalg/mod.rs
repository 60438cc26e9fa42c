//! Products of matrices, attention, and ops on rows and columns.

mod attention;
mod gemm;
mod rows;
