//! The linalg op sets.
//!
//! Which kernel takes an op depends only on shapes and alignment, and so does the order of every
//! sum: results do not depend on the card. All results except for products on the matrix units have
//! the same bits everywhere.

mod attention;
pub(super) mod elementwise;
mod gemm;
mod loss;
mod rows;
pub(super) mod sum;
