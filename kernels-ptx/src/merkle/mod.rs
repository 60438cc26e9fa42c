//! Kernels of the merkle op set.
//!
//! A thread computes a whole digest: state, chaining value and message block stay in registers.
//! What limits them is arithmetic, about 1100 instructions for each block of 64 bytes.

mod digest;
mod leaves;
mod paths;
mod secure_leaves;
mod tree;
