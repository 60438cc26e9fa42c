//! Generation of comparison keys with payload.

use core_types::{Label, params::fss::DcfGenParams};

use super::DcfGenShape;
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Generates the common sections of DCF keys for the secrets `alphas` and `betas`.
    ///
    /// `alphas` are read modulo 2^bits.
    ///
    /// The two low bits of a root are ignored. Padding keys `count .. P` have the sections of α =
    /// 0, β = 0.
    pub struct DcfGen<'a, Q> as "dcf_gen" {
        /// Widths and number of keys and payload words.
        params: plain &'a DcfGenParams,
        /// `u64[count]`.
        alphas: read u64,
        /// `u64[L][count]`.
        betas: read u64,
        /// `Label[2][P]`, party 0 first: uniform, independent words, fresh for each batch.
        roots: read Label,
        /// `u128[bits][P]`.
        corrections: write u128,
        /// `u64[bits][L][P]`.
        values: write u64,
        /// `u64[L][P]`.
        last: write u64,
    }
}

impl<Q: Queue> DcfGen<'_, Q> {
    /// Checks parameters and views, and returns the sizes that the parameters state.
    ///
    /// # Errors
    /// See [`FssOps`](super::FssOps).
    pub fn check(&self) -> Result<DcfGenShape, BackendError> {
        let shape = DcfGenShape::new(Self::NAME, self.params)?;
        self.expect(shape.lengths())?;
        Ok(shape)
    }
}
