//! From coefficients to the values on one block of a domain.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleRestrictParams,
};

use super::shape::extension;
use crate::ops::{lengths::pow2, op};

op! {
    /// Evaluates polynomials on one block of a domain.
    ///
    /// The polynomials have `2^log_coefficients` coefficients, and the domain is at least as large.
    /// Block `q` holds the stored positions `q 2^log_block .. (q + 1) 2^log_block`.
    ///
    /// All blocks one after the other are what [`CircleExtend`](super::CircleExtend) writes. The
    /// highest layers of a transform mix whole blocks, so for one of them they are a sum. With
    /// `m = log_block`, part `r` of a column, which are its coefficients `r 2^m .. (r + 1) 2^m`,
    /// has the product of `-T_(m+j-1)[q >> (j+1)]` over the bits `j` that are set in both `r` and
    /// `q`, and of `T_(m+j-1)[q >> (j+1)]` over those set in `r` alone, as its weight. The layers
    /// below `m` then run on the weighted sum of the parts, or on copies of a column that is no
    /// larger than a block, with the block's slice of the twiddles. A batch reads all coefficients
    /// once and writes the block.
    pub struct CircleRestrict<'a, Q> as "circle_restrict" {
        /// Sizes, number of the columns, and the block.
        params: plain &'a CircleRestrictParams,
        /// Twiddles of the domain.
        twiddles: read Twiddle [pow2(log_domain - 1)],
        /// The coefficients.
        coefficients: read M31 [columns, pow2(log_coefficients)],
        /// The values on the block.
        values: write M31 [columns, pow2(log_block)],
    }
    sizes(self) {
        let CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns } = *self.params;
        extension(OP, log_coefficients, log_domain)?;
    }
    valid(self) {
        (1..=log_domain).contains(&log_block), "expected `log_block` in 1..=`log_domain`";
        block >> (log_domain - log_block) == 0, "the block lies outside the domain";
    }
}
