//! Local steps as data, for an engine that runs them later.

use core::ops::Range;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::Words;

/// A local step: linear, without keys and without the other party.
pub(crate) enum Local {
    /// Words of the host, maybe secret.
    Given(Arc<Zeroizing<Vec<u64>>>),
    /// A number of zeros: a party's share of the other party's words.
    Zeros(usize),
    /// The sum of both.
    Sum([Words; 2]),
    /// The first less the second.
    Difference([Words; 2]),
    /// The sum of each row of this width.
    RowSums(Words, usize),
    /// Each word, repeated in a row a number of times.
    Repeated(Words, usize),
    /// All words, one copy after the other, a number of times.
    Tiled(Words, usize),
    /// Consecutive words.
    Slice(Words, Range<usize>),
    /// The words of both, one after the other.
    Joined([Words; 2]),
    /// The axes of this shape in this order.
    Permuted(Words, [Vec<usize>; 2]),
    /// The word at each place, or 0 where there is none.
    Gathered(Words, Vec<Option<u32>>),
    /// The second added to each row of the first.
    WithRow(Words, Words),
    /// Public words added in turn.
    WithConstants(Words, Vec<u64>),
    /// Each word times a public factor.
    Scaled(Words, u64),
}

impl Local {
    /// Number of words of the result.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Given(words) => words.len(),
            Self::Zeros(len) => *len,
            Self::Sum([x, _]) | Self::Difference([x, _]) => x.len(),
            Self::RowSums(x, width) => x.len() / width,
            Self::Repeated(x, times) | Self::Tiled(x, times) => x.len() * times,
            Self::Slice(_, range) => range.len(),
            Self::Joined([x, y]) => x.len() + y.len(),
            Self::Gathered(_, places) => places.len(),
            Self::Permuted(x, _) | Self::WithRow(x, _) | Self::WithConstants(x, _) | Self::Scaled(x, _) => x.len(),
        }
    }

    /// The words that the step reads.
    pub(super) fn into_operands(self) -> [Option<Words>; 2] {
        match self {
            Self::Given(_) | Self::Zeros(_) => [None, None],
            Self::Sum(words) | Self::Difference(words) | Self::Joined(words) => words.map(Some),
            Self::WithRow(x, row) => [Some(x), Some(row)],
            Self::RowSums(x, _) | Self::Repeated(x, _) | Self::Tiled(x, _) | Self::Slice(x, _) => [Some(x), None],
            Self::Permuted(x, _) | Self::Gathered(x, _) | Self::WithConstants(x, _) | Self::Scaled(x, _) => {
                [Some(x), None]
            }
        }
    }
}
