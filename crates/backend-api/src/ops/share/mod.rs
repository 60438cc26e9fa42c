//! Local arithmetic on one party's shares.
//!
//! This is the public part of a gate, between the walk of its key trees and an exchange, and after
//! the exchange; and the products of a matrix of shares and a public one.
//!
//! Every gate of function secret sharing that is used here ends in sums of the party's words with
//! public factors: powers of the masked input, opened bits, comparisons of the masked input with
//! constants. So one op serves all of them, and only the list of terms differs. Lists are public
//! and stay on the host; they say nothing about any element.
//!
//! A row of bits is `u32[P / 32]`, element `e` at bit `e % 32` of word `e / 32`, with
//! `P = padded(count)`; bits past the last element are zero.

mod shape;

use core_types::params::share::{BitParams, BitTerm, MatmulWordsParams, WordParams, WordTerm};

pub use super::sets::ShareOps;
use crate::{
    BufferRef,
    ops::{fss::GROUP, op},
};
pub use shape::{BitShape, WordShape};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! share_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps on shares.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length that
            /// parameters and terms state. The sums return [`BackendError::Unsupported`] for
            /// widths, parties, powers or rows out of range and for lists that do not end in a last
            /// term. Nothing is written then. Results are the same bit for bit on every backend.
            share::ShareOps: Queue {
                combine_bits(CombineBits) -> BitShape,
                combine_words(CombineWords) -> WordShape,
                matmul_words(MatmulWords),
            }
        }
    };
}

op! {
    /// Sums of bits: exclusive ors of rows of XOR shares, and of public bits, which party 0 adds.
    pub struct CombineBits<'a, Q> as "combine_bits" {
        /// Party and number of elements.
        params: plain &'a BitParams,
        /// The terms of the sums.
        terms: plain &'a [BitTerm],
        /// Public words.
        x: read u64 [count],
        /// `k` rows of shares, for any `k`.
        rows: read u32 [k, words],
        /// The sums, a row of bits each.
        sums: write u32 [sums, words],
    }
    sizes(self) -> shape: BitShape {
        let shape = BitShape::new(OP, self.params, self.terms, self.rows.len())?;
        let BitShape { count, words, rows, sums } = shape;
        let k = rows.checked_div(words).unwrap_or_default();
    }
}

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

op! {
    /// Products of matrices of words, `out = alpha x y + beta out` modulo 2^64, for a batch.
    ///
    /// All matrices are row-major, and the results are exact. If `beta` is 0, `out` is written
    /// without being read. Products without terms, those with `inner = 0`, are zero: `out` becomes
    /// `beta out`. If there is no product, no row or no column, nothing is done.
    ///
    /// No branch and no address depends on a word of `x`, `y` or `out`. Beaver's product of two
    /// secret matrices (CRYPTO 1991) is two of these ops: each multiplies a matrix of shares and an
    /// opened one.
    pub struct MatmulWords<'a, Q> as "matmul_words" {
        /// The shape and the factors.
        params: plain &'a MatmulWordsParams,
        /// The first factors.
        x: read u64 [batch, rows, inner],
        /// The second factors.
        y: read u64 [batch, inner, cols],
        /// The addends and then the results.
        out: write u64 [batch, rows, cols],
    }
    sizes(self) {
        let MatmulWordsParams { batch, rows, inner, cols, .. } = *self.params;
    }
}
