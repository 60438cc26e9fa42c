//! Arithmetic on two tensors, with broadcasting.

use core_types::params::elementwise::BinaryParams;

use crate::{
    Real,
    ops::{
        op,
        tensor::shape::{check_rank, product, reached},
    },
};

op! {
    /// `y = f(a, b)` with broadcasting by zero strides.
    pub struct Binary<'a, Q, T: Real> as "binary" {
        /// Function, shape and strides.
        params: plain &'a BinaryParams,
        /// Every element that its strides reach.
        a: read T [>= reached_by_a],
        /// Every element that its strides reach.
        b: read T [>= reached_by_b],
        /// The elements of the shape.
        y: write T [count],
    }
    sizes(self) {
        let p = self.params;
        check_rank(OP, p.rank)?;
        let count = product(p.rank, &p.shape);
        let reached_by_a = reached(p.rank, &p.shape, &p.a_strides);
        let reached_by_b = reached(p.rank, &p.shape, &p.b_strides);
    }
}
