//! A dense bit stream to words again.

use core_types::params::fss::PackParams;

use super::PackShape;
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// The inverse of [`PackBits`](super::PackBits).
    pub struct UnpackBits<'a, Q> as "unpack_bits" {
        /// Width and number of elements.
        params: plain &'a PackParams,
        /// `ceil(count * bits / 64)` words.
        words: read u64,
        /// `u64[count]`, each below 2^bits.
        elements: write u64,
    }
}

impl<Q: Queue> UnpackBits<'_, Q> {
    /// Checks parameters and views, and returns the sizes that the parameters state.
    ///
    /// # Errors
    /// See [`FssOps`](super::FssOps).
    pub fn check(&self) -> Result<PackShape, BackendError> {
        let shape = PackShape::new(Self::NAME, self.params)?;
        self.expect([shape.words, shape.count])?;
        Ok(shape)
    }
}
