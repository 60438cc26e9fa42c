//! Copies between layouts.

use core_types::params::tensor::CopyParams;

use super::shape::{check_rank, is_nested, product, reached};
use crate::{Real, ops::op};

op! {
    /// `y[i] = x[i]` for every index i of a shape of up to six axes.
    ///
    /// This is a transpose, a slice or a repetition of x into a slice of y; other elements of y
    /// stay. Strides of y whose axes do not nest are refused, since elements might overlap.
    pub struct CopyStrided<'a, Q, T: Real> as "copy_strided" {
        /// Shape and strides.
        params: plain &'a CopyParams,
        /// Every element that its strides reach.
        x: read T [>= reached_by_x],
        /// Every element that its strides reach.
        y: write T [>= reached_by_y],
    }
    sizes(self) {
        let p = self.params;
        check_rank(OP, p.rank)?;
        let reached_by_x = reached(p.rank, &p.shape, &p.x_strides);
        let reached_by_y = reached(p.rank, &p.shape, &p.y_strides);
    }
    valid(self) {
        product(p.rank, &p.shape) == 0 || is_nested(p.rank, &p.shape, &p.y_strides), "elements of the result overlap";
    }
}
