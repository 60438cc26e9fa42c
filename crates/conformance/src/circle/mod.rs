//! Specifications of the `circle` op set.
//!
//! The oracle is the definition: a polynomial is the sum of its coefficients times the basis, point
//! by point, with points computed from their indices. There are also published vectors of stwo 2.3.

mod field;
pub(crate) mod model;
mod part;
mod points;
mod restrict;
mod transform;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![
        transform::twiddles(),
        transform::evaluate(),
        transform::interpolate(),
        transform::extend(),
        transform::lde(),
        part::interpolate_part(),
        restrict::restrict(),
        field::eval_at_point(),
        points::eval_at_points(),
        field::batch_inverse(),
    ]
}
