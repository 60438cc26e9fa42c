//! Local arithmetic on one party's shares.
//!
//! This is the public part of a gate, between the walk of its key trees and an exchange, and after
//! the exchange; products of a matrix of shares and a public one; and sums of public tables over
//! the set bits of shares. It is also the arithmetic between gates: sums of shares and rows.
//!
//! Every gate of function secret sharing that is used here ends in sums of the party's words with
//! public factors: powers of the masked input, opened bits, comparisons of the masked input with
//! constants. So one op serves all of them, and only the list of terms differs. Lists are public;
//! they say nothing about any element. Ops take them from the host. A device that needs a copy
//! finds it where [`Queue::write_with_lists`](crate::Queue::write_with_lists) put it, or makes one.
//!
//! A row of bits is `u32[P / 32]`, element `e` at bit `e % 32` of word `e / 32`, with
//! `P = padded(count)`; bits past the last element are zero.

mod shape;

use core_types::{
    cmp::{CMP_ALL_BITS, cmp_blocks},
    params::share::{
        BitParams, BitTerm, LinearWordsParams, MAX_TABLES, MatmulWordsParams, TableSumsParams, WordParams, WordTerm,
    },
};

pub use super::sets::ShareOps;
use crate::{
    BufferRef,
    ops::{fss::GROUP, op, op::lengths::pow2},
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
            /// widths, parties, powers, rows or numbers of tables out of range and for lists that
            /// do not end in a last term. Nothing is written then. Results are the same bit for bit
            /// on every backend.
            share::ShareOps: Queue {
                combine_bits(CombineBits) -> BitShape,
                combine_words(CombineWords) -> WordShape,
                linear_words(LinearWords),
                matmul_words(MatmulWords),
                table_sums(TableSums),
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
        /// Where the terms are in device memory.
        ///
        /// A device reads them there only if it noted that they are there, and else copies them.
        placed: read_if u32 [list, 8],
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
        let (list, k) = (self.terms.len(), rows.checked_div(words).unwrap_or_default());
    }
}

op! {
    /// Sums of words, each the sum of its terms that count: see [`WordTerm`].
    pub struct CombineWords<'a, Q> as "combine_words" {
        /// Party, widths and numbers of rows.
        params: plain &'a WordParams,
        /// The terms of the sums.
        terms: plain &'a [WordTerm],
        /// Where the terms are in device memory, as for [`CombineBits`].
        placed: read_if u32 [list, 16],
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
        let list = self.terms.len();
    }
}

op! {
    /// Sums of words and a row that repeats over them, with public factors.
    ///
    /// `out[i] = (alpha x[i] + beta row[i mod period] + constant) mod 2^bits`. The last repetition of
    /// the row may be cut. Without `x`, the sums are in place: of the words that `out` held.
    /// Without a row, its part of the sum is 0. If there is no word, nothing is done.
    ///
    /// No branch and no address depends on a word of `x`, `row` or `out`. Numbers and factors are
    /// public. No list of terms is copied, unlike for [`CombineWords`].
    pub struct LinearWords<'a, Q> as "linear_words" {
        /// Numbers of words, factors and the width.
        params: plain &'a LinearWordsParams,
        /// The words; if left out, `out` holds them.
        x: read_if u64 [count],
        /// The row, if there is one.
        row: read_if u64 [period],
        /// In place the words, and then the sums.
        out: write u64 [count],
    }
    sizes(self) {
        let LinearWordsParams { count, period, bits, .. } = *self.params;
    }
    valid(self) {
        (1..=64).contains(&bits), "expected results of 1 to 64 bits";
        self.row.is_none() || period > 0, "expected a row of 1 word or more";
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

op! {
    /// Sums of public tables over the set bits of one party's shares of unit vectors.
    ///
    /// For the element `e`, with `d[i]` the bit of its share for the point `i`,
    ///
    /// - `sums[w][e]` is the sum over `i` of `d[i] table[w][(x[e] - i) mod 2^bits]`, modulo 2^64,
    /// - `ones[e]` is the sum of `d[i]`.
    ///
    /// `units` has the layout of the results of [`CmpEvalAll`](super::fss::CmpEvalAll): bit `j` of
    /// word `b * count + e` belongs to the point `128 b + j` of element `e`. Bits past the last
    /// point do not count, and neither do bits of `x` above the `bits` lowest. If there is no
    /// element, nothing is done.
    ///
    /// The shares of both parties differ at one point `r`. Hence the difference of their sums is
    /// `s table[w][x - r]` for the difference `s` of their ones, which is 1 or -1 (Pika, PETS
    /// 2022).
    ///
    /// Bits are secret: every entry is read, and no branch and no address depends on a bit. `x` and
    /// the tables are public and choose addresses.
    pub struct TableSums<'a, Q> as "table_sums" {
        /// Numbers of elements and of tables, and the width of positions.
        params: plain &'a TableSumsParams,
        /// The shares; [`cmp_blocks`] rows.
        units: read u128 [blocks, count],
        /// Public words.
        x: read u64 [count],
        /// The tables, one after the other.
        table: read u64 [tables, entries],
        /// The sums, a row for each table.
        sums: write u64 [tables, count],
        /// The number of set bits of each element.
        ones: write u64 [count],
    }
    sizes(self) {
        let TableSumsParams { count, bits, tables } = *self.params;
        let (blocks, entries) = (cmp_blocks(bits), pow2(bits));
    }
    valid(self) {
        (1..=CMP_ALL_BITS).contains(&bits), "expected positions of 1 to 13 bits";
        (1..=MAX_TABLES).contains(&tables), "expected 1 to 8 tables";
    }
}
