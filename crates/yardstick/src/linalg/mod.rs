//! Speed lines of the `linalg` op set.

mod elements;
mod gemm;
mod loss;
mod rows;
mod svd;

use super::Contest;

/// Every contest of the op set, by name, each built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let mut all = gemm::contests();
    all.extend(rows::contests());
    all.extend(elements::contests());
    all.extend(loss::contests());
    all.extend(svd::contests());
    all
}
