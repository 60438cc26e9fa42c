//! Specifications of the `correction` op set.

mod apply;
mod estimate;
mod features;
mod ring;
mod training;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    let mut all = features::specs();
    all.extend(ring::specs());
    all.push(estimate::spec());
    all.extend(apply::specs());
    all
}
