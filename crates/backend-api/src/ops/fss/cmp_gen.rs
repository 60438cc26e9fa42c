//! Generation of comparison keys.

use core_types::{Label, params::fss::CmpGenParams};

use super::CmpGenShape;
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Makes the common sections of CMP keys for the secrets `alphas`, read modulo 2^bits.
    ///
    /// Trees ignore the two low bits of a root; a truth table takes its randomness from all bits of
    /// the root of party 0. Padding keys `count .. P` have the sections of α = 0.
    pub struct CmpGen<'a, Q> as "cmp_gen" {
        /// Width and number of keys.
        params: plain &'a CmpGenParams,
        /// `u64[count]`.
        alphas: read u64,
        /// `Label[2][P]`, party 0 first: uniform, independent words, fresh for each batch.
        roots: read Label,
        /// `u128[cmp_levels(bits)][P]`.
        corrections: write u128,
        /// Leaf corrections or truth tables, `u128[2][P]` for every width.
        ///
        /// The corrections of the two leaf blocks are common to both parties. For at most 7 bits,
        /// these are the truth tables of party 0 and then of party 1. Each table is secret to its
        /// party.
        leaves: write u128,
    }
}

impl<Q: Queue> CmpGen<'_, Q> {
    /// Checks parameters and views, and returns the sizes that the parameters state.
    ///
    /// # Errors
    /// See [`FssOps`](super::FssOps).
    pub fn check(&self) -> Result<CmpGenShape, BackendError> {
        let shape = CmpGenShape::new(Self::NAME, self.params)?;
        self.expect(shape.lengths())?;
        Ok(shape)
    }
}
