//! Specifications of the `circle` op set.
//!
//! The oracle is the definition: a polynomial is the sum of its coefficients times the basis, point by point, with
//! points computed from their indices. There are also published vectors of stwo 2.3.

mod field;
pub(crate) mod model;
mod transform;

use backend_api::ops::circle::CircleOps;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs<Q: CircleOps + 'static>() -> Vec<OpSpec<Q>> {
    vec![
        transform::twiddles(),
        transform::evaluate(),
        transform::interpolate(),
        transform::extend(),
        transform::lde(),
        field::eval_at_point(),
        field::batch_inverse(),
    ]
}
