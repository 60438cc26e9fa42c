//! Specifications of the `recurrent` op set.

mod backward;
mod differences;
mod forward;
mod gradients;
mod loss;
mod model;
mod rollout;
mod train;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![
        forward::forward(),
        backward::backward(),
        gradients::gradients(),
        loss::loss(),
        rollout::rollout(),
        train::train(),
    ]
}
