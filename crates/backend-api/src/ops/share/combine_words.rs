//! Sums of shares of words, with public conditions and powers.

use core_types::params::share::{WordParams, WordTerm};

use super::WordShape;
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Sums of words, each the sum of its terms that count: see [`WordTerm`].
    pub struct CombineWords<'a, Q> as "combine_words" {
        /// Party, widths and numbers of rows.
        params: plain &'a WordParams,
        /// The terms of the sums.
        terms: plain &'a [WordTerm],
        /// `u64[count]`, public.
        x: read u64,
        /// `u64[padded_rows][P]`, shares.
        padded: read u64,
        /// `u64[rows][count]`, shares.
        rows: read u64,
        /// `u32[opened_rows][P / 32]`, public.
        opened: read u32,
        /// `u64[sums][count]`, or `u64[count][sums]` if results are interleaved.
        sums: write u64,
    }
}

impl<Q: Queue> CombineWords<'_, Q> {
    /// Checks parameters and views, and returns the sizes that the parameters state.
    ///
    /// # Errors
    /// See [`ShareOps`](super::ShareOps).
    pub fn check(&self) -> Result<WordShape, BackendError> {
        let shape = WordShape::new(Self::NAME, self.params, self.terms)?;
        self.expect(shape.lengths())?;
        Ok(shape)
    }
}
