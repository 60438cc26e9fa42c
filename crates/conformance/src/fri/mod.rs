//! Specifications of the `fri` op set.

mod open;

use backend_api::ops::fri::FriOps;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs<Q: FriOps + 'static>() -> Vec<OpSpec<Q>> {
    vec![open::open_columns(), open::open_groups()]
}
