//! Linear sums of shares of bits.

use core_types::params::share::{BitParams, BitTerm};

use super::BitShape;
use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Sums of bits: exclusive ors of rows of XOR shares, and of public bits, which party 0 adds.
    pub struct CombineBits<'a, Q> as "combine_bits" {
        /// Party and number of elements.
        params: plain &'a BitParams,
        /// The terms of the sums.
        terms: plain &'a [BitTerm],
        /// `u64[count]`, public.
        x: read u64,
        /// `u32[k][P / 32]` for any `k`, shares.
        rows: read u32,
        /// `u32[sums][P / 32]`.
        sums: write u32,
    }
}

impl<Q: Queue> CombineBits<'_, Q> {
    /// Checks parameters and views, and returns the sizes that the parameters state.
    ///
    /// # Errors
    /// See [`ShareOps`](super::ShareOps).
    pub fn check(&self) -> Result<BitShape, BackendError> {
        let shape = BitShape::new(Self::NAME, self.params, self.terms, self.rows.len())?;
        self.expect([shape.count, shape.rows, shape.sums.saturating_mul(shape.words)])?;
        Ok(shape)
    }
}
