//! The linalg op sets.
//!
//! Which kernel takes an op depends only on shapes and alignment, and so does the order of every
//! sum: results do not depend on the card. All results except for products on the matrix units have
//! the same bits everywhere.

pub(super) mod elementwise;
mod gemm;
mod loss;
mod rows;
pub(super) mod sum;

use backend_api::BackendError;

/// A length as the kernels index it: below 2^31.
fn index_bound(op: &'static str, len: u64) -> Result<u32, BackendError> {
    u32::try_from(len)
        .ok()
        .filter(|&len| len < 1 << 31)
        .ok_or(BackendError::Unsupported { op, why: "expected fewer than 2^31 elements along an axis" })
}
