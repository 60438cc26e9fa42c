//! Specifications of the `merkle` op set.
//!
//! The oracle hashes one leaf and one node at a time with crate `blake2`. There are also published
//! roots of stwo 2.3.

mod leaves;
mod model;
mod paths;
mod tree;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![leaves::columns(), leaves::secure(), tree::tree(), paths::paths()]
}
