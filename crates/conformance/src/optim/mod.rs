//! Specifications of the `optim` op set, and of the optimizers that `nn-ops` makes of it.
//!
//! The oracles are the recurrences of the papers in f64, schedules by the functions of the standard
//! library, and the loss scale's table of states.

mod model;
mod optimizer;
mod record;
mod steps;

use crate::{OpSpec, spec::typed};

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    let mut all = record::specs();
    all.extend(steps::specs());
    all.extend(optimizer::specs());
    all
}
