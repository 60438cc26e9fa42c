//! Specifications of the `linalg` op set.

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs<Q>() -> Vec<OpSpec<Q>> {
    Vec::new()
}
