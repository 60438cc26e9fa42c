//! Specifications of the `recurrent` op set.

mod backward;
mod forward;
mod gradients;
mod loss;
mod model;
mod rollout;
mod train;

use backend_api::ops::{linalg::LinalgOps, optim::OptimOps, recurrent::RecurrentOps};

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs<Q: RecurrentOps + LinalgOps + OptimOps + 'static>() -> Vec<OpSpec<Q>> {
    vec![
        forward::forward(),
        backward::backward(),
        gradients::gradients(),
        loss::loss(),
        rollout::rollout(),
        train::train(),
    ]
}
