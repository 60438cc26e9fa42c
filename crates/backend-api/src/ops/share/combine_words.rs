//! Sums of shares of words, with public conditions and powers.

use core_types::params::share::{WordParams, WordTerm};

use super::WordShape;
use crate::ops::{fss::GROUP, op};

op! {
    /// Sums of words, each the sum of its terms that count: see [`WordTerm`].
    pub struct CombineWords<'a, Q> as "combine_words" {
        /// Party, widths and numbers of rows.
        params: plain &'a WordParams,
        /// The terms of the sums.
        terms: plain &'a [WordTerm],
        /// Public words.
        x: read u64 [count],
        /// Rows of shares with padding.
        padded: read u64 [padded_rows, padded],
        /// Rows of shares without padding.
        rows: read u64 [rows, count],
        /// Rows of opened bits, public.
        opened: read u32 [opened_rows, padded / GROUP],
        /// The sums, a row each; if results are interleaved, `u64[count, sums]` instead.
        sums: write u64 [sums, count],
    }
    sizes(self) -> shape: WordShape {
        let shape = WordShape::new(OP, self.params, self.terms)?;
        let WordShape { count, padded, padded_rows, rows, opened_rows, sums } = shape;
    }
}
