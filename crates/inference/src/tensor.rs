//! Words of a value or of one share of it, with the range proven for the value.

use core::{fmt, ops::Range};

use pfss::{RangeError, SignedRange};

use crate::Words;

/// Words of a value, or of one share of it, with the range proven for every value.
///
/// Ranges come from public facts only: the architecture, its limit on weights, and the range of
/// inputs.
#[derive(Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Ring words modulo `2^64`.
    pub words: Words,
    /// What every value lies in.
    pub range: SignedRange,
}

/// Shows the number and the range: words may be secret.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor").field("len", &self.words.len()).field("range", &self.range).finish_non_exhaustive()
    }
}

impl Tensor {
    /// `self + other`, element by element.
    pub(crate) fn add(&self, other: &Self) -> Result<Self, RangeError> {
        Ok(Self { words: self.words.add(&other.words), range: self.range.checked_add(other.range)? })
    }

    /// `self - other`, element by element.
    pub(crate) fn sub(&self, other: &Self) -> Result<Self, RangeError> {
        Ok(Self { words: self.words.sub(&other.words), range: self.range.checked_sub(other.range)? })
    }

    /// The sum of each row of `width` elements.
    pub(crate) fn row_sums(&self, width: u32) -> Result<Self, RangeError> {
        Ok(Self { words: self.words.row_sums(width as usize), range: self.range.sum_of(width)? })
    }

    /// Each element `width` times.
    pub(crate) fn repeat(&self, width: u32) -> Self {
        Self { words: self.words.repeated(width as usize), range: self.range }
    }

    /// Consecutive elements.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        Self { words: self.words.slice(range), range: self.range }
    }

    /// The elements of a row-major tensor of `shape` with its axes reordered.
    ///
    /// Axis `i` of the result is axis `order[i]`.
    pub(crate) fn permuted<const N: usize>(&self, shape: [usize; N], order: [usize; N]) -> Self {
        Self { words: self.words.permuted(shape, order), range: self.range }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_reordered() {
        let tensor = Tensor { words: (0..24).collect::<Vec<_>>().into(), range: SignedRange::of_bits(8) };
        let permuted = tensor.permuted([2, 3, 4], [2, 0, 1]);
        for (i, word) in permuted.words.on_host().unwrap().iter().enumerate() {
            let (a, b, c) = (i / 6, i / 3 % 2, i % 3); // axes 2, 0, 1 of the source
            assert_eq!(*word as usize, b * 12 + c * 4 + a);
        }
        assert_eq!(permuted.permuted([4, 2, 3], [1, 2, 0]), tensor);
    }
}
