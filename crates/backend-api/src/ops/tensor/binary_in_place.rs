//! Arithmetic on two tensors, in place of the first.

use core_types::params::elementwise::BinaryParams;

use super::shape::{check_rank, is_row_major, product, reached};
use crate::{Real, ops::op};

op! {
    /// `a = f(a, b)`, with the bits of [`Binary`](crate::ops::linalg::Binary).
    ///
    /// b may be repeated by zero strides. The strides of a must be row-major; others are refused.
    pub struct BinaryInPlace<'a, Q, T: Real> as "binary_in_place" {
        /// Function, shape and strides.
        params: plain &'a BinaryParams,
        /// The elements of the shape, in row-major order.
        a: write T [count],
        /// Every element that its strides reach.
        b: read T [>= reached_by_b],
    }
    sizes(self) {
        let p = self.params;
        check_rank(OP, p.rank)?;
        let count = product(p.rank, &p.shape);
        let reached_by_b = reached(p.rank, &p.shape, &p.b_strides);
    }
    valid(self) {
        is_row_major(p.rank, &p.shape, &p.a_strides), "the strides of a are not row-major";
    }
}
