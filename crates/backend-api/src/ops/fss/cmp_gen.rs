//! Generation of comparison keys.

use core_types::{Label, params::fss::CmpGenParams};

use super::CmpGenShape;
use crate::ops::op;

op! {
    /// Makes the common sections of CMP keys for the secrets `alphas`, read modulo 2^bits.
    ///
    /// Trees ignore the two low bits of a root; a truth table takes its randomness from all bits of
    /// the root of party 0. Padding keys `count .. P` have the sections of α = 0.
    pub struct CmpGen<'a, Q> as "cmp_gen" {
        /// Width and number of keys.
        params: plain &'a CmpGenParams,
        /// The secret of each key.
        alphas: read u64 [count],
        /// The roots, party 0 first: uniform, independent words, fresh for each batch.
        roots: read Label [2, row],
        /// Correction words; [`cmp_levels`](core_types::cmp::cmp_levels) rows.
        corrections: write u128 [levels, row],
        /// Leaf corrections or truth tables, two rows for every width.
        ///
        /// The corrections of the two leaf blocks are common to both parties. For at most 7 bits,
        /// these are the truth tables of party 0 and then of party 1. Each table is secret to its
        /// party.
        leaves: write u128 [2, row],
    }
    sizes(self) -> shape: CmpGenShape {
        let shape = CmpGenShape::new(OP, self.params)?;
        let CmpGenShape { row, count, levels } = shape;
    }
}
