//! Words to a dense bit stream, for transport.

use core_types::params::fss::PackParams;

use super::PackShape;
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Packs the low `bits` bits of elements into a dense little-endian bit stream.
    ///
    /// Element `i` starts at bit `i * bits`.
    pub struct PackBits<'a, Q> as "pack_bits" {
        /// Width and number of elements.
        params: plain &'a PackParams,
        /// `u64[count]`.
        elements: read u64,
        /// `ceil(count * bits / 64)` words, whose unused bits are zero.
        words: write u64,
    }
}

impl<Q: Queue> PackBits<'_, Q> {
    /// Checks parameters and views, and returns the sizes that the parameters state.
    ///
    /// # Errors
    /// See [`FssOps`](super::FssOps).
    pub fn check(&self) -> Result<PackShape, BackendError> {
        let shape = PackShape::new(Self::NAME, self.params)?;
        self.expect([shape.count, shape.words])?;
        Ok(shape)
    }
}
