//! Specifications of the `linalg` op set.

mod elementwise;
mod gemm;
mod rows;

use backend_api::ops::linalg::RowOps;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs<Q: RowOps + 'static>() -> Vec<OpSpec<Q>> {
    let mut all = gemm::specs();
    all.extend(elementwise::specs());
    all.extend(rows::specs());
    all
}
