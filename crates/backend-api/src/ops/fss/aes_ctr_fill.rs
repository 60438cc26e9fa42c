use core_types::params::fss::AesCtrParams;

use crate::{
    BackendError, BufferMut, Queue,
    ops::{Op, op},
};

op! {
    /// Expands a seed: words `2i` and `2i + 1` are the low and high half of AES(first + i), the counter being a 128-bit
    /// little-endian block that wraps; an odd last word is a low half.
    pub struct AesCtrFill<'a, Q> as "aes_ctr_fill" {
        /// Key and first counter.
        params: plain &'a AesCtrParams,
        /// Any number of words.
        words: write u64,
    }
}

impl<Q: Queue> AesCtrFill<'_, Q> {
    /// Refuses what is no op.
    ///
    /// # Errors
    /// See [`FssOps`](super::FssOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.words.len()])
    }
}
