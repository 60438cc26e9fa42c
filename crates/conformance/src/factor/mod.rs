//! Specifications of the `factor` op set, and of what `nn-ops` makes of it: decompositions and residuals of low rank.
//!
//! The oracles are sums in f64, one-sided Jacobi rotations in f64, and what theory says of the error of truncation.
//! Vectors are compared by what they do, never by their entries: they are orthonormal, and their product is the matrix.

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
