//! Specifications of the `recurrent` op set.

mod backward;
mod forward;
mod model;
mod rollout;

use backend_api::ops::recurrent::RecurrentOps;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs<Q: RecurrentOps + 'static>() -> Vec<OpSpec<Q>> {
    vec![forward::forward(), backward::backward(), rollout::rollout()]
}
