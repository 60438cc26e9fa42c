//! Local arithmetic on one party's shares: the public part of a gate, between the walk of its key trees and an exchange,
//! and behind the exchange.
//!
//! Every gate of function secret sharing that is used here ends in sums of the party's words with public factors: powers of
//! the masked input, opened bits, comparisons of the masked input with constants. So one op serves all of them, and what
//! differs is a list of terms. Lists are public and lie on the host; they say nothing of an element.
//!
//! A row of bits is `u32[P / 32]`, element `e` at bit `e % 32` of word `e / 32`, with `P = padded(count)`; bits behind the
//! last element are zero.

mod shape;

use core_types::params::share::{BitParams, BitTerm, WordParams, WordTerm};

pub use self::shape::{BitShape, WordShape};
use crate::{BackendError, Mut, Queue, Ref};

/// Device steps on shares.
///
/// Both ops return [`BackendError::Length`] if a view does not have the length that parameters and terms state, and
/// [`BackendError::Unsupported`] for widths, parties, powers or rows out of range and for lists that do not end in a last
/// term. Nothing is written then. Results are the same bit for bit on every backend.
pub trait ShareOps: Queue {
    /// Sums of bits: exclusive ors of rows of XOR shares, and of public bits, which party 0 adds.
    ///
    /// `x` is `u64[count]`, public; `rows` is `u32[k][P / 32]` for any `k`, `sums` is `u32[sums][P / 32]`.
    ///
    /// # Errors
    /// See [`ShareOps`].
    fn combine_bits(
        &self,
        params: &BitParams,
        terms: &[BitTerm],
        x: Ref<'_, Self, u64>,
        rows: Ref<'_, Self, u32>,
        sums: Mut<'_, Self, u32>,
    ) -> Result<(), BackendError>;

    /// Sums of words, each the sum of its terms that count: see [`WordTerm`].
    ///
    /// `x` is `u64[count]`, public; `padded` is `u64[padded_rows][P]` and `rows` is `u64[rows][count]`, shares;
    /// `opened` is `u32[opened_rows][P / 32]`, public. `sums` is `u64[sums][count]`, or `u64[count][sums]` if results are
    /// interleaved.
    ///
    /// # Errors
    /// See [`ShareOps`].
    #[expect(clippy::too_many_arguments, reason = "one view for each kind of row")]
    fn combine_words(
        &self,
        params: &WordParams,
        terms: &[WordTerm],
        x: Ref<'_, Self, u64>,
        padded: Ref<'_, Self, u64>,
        rows: Ref<'_, Self, u64>,
        opened: Ref<'_, Self, u32>,
        sums: Mut<'_, Self, u64>,
    ) -> Result<(), BackendError>;
}
