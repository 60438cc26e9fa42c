//! Specifications of the `factor` op set, and of decompositions and residuals of `nn-ops`.
//!
//! The oracles are sums in f64, one-sided Jacobi rotations in f64, and the theoretical bound of the
//! truncation error. Singular vectors are never compared entry by entry: they must be orthonormal,
//! and their product must be the matrix.

mod columns;
mod model;
mod residual;
mod small;
mod svd;
mod tall;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    let mut all = tall::specs();
    all.extend(small::specs());
    all.extend(columns::specs());
    all.extend(svd::specs());
    all.extend(residual::specs());
    all
}
