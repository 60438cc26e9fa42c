//! Rows of different lengths, packed one after the other.

use core::ops::Range;

use thiserror::Error;

/// Rows of different lengths, packed without gaps.
///
/// The layout defines which elements of a `rows` x `cols` tensor are active. It is public.
///
/// ```
/// use pfss::softmax::RowLayout;
///
/// // Causal attention: row r sees the first r + 1 columns.
/// let layout = RowLayout::causal(3, 4, 0);
/// assert_eq!(layout.active(), 1 + 2 + 3);
/// assert_eq!(layout.gather(&[10, 0, 0, 0, 20, 21, 0, 0, 30, 31, 32, 0])?, [10, 20, 21, 30, 31, 32]);
/// # Ok::<(), pfss::softmax::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowLayout {
    cols: usize,
    /// Start of each row in the packed order, and the end of the last: ascending from 0.
    offsets: Vec<usize>,
}

/// Lengths that do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A row is longer than the tensor is wide.
    #[error("expected at most {cols} active elements in row {row}, got {got}")]
    RowLength {
        /// The row.
        row: usize,
        /// Columns of the tensor.
        cols: usize,
        /// The requested length.
        got: usize,
    },
    /// The length of a slice differs from the layout's number of elements.
    #[error("expected {expected} {what} elements, got {got}")]
    Elements {
        /// `dense` or `active`.
        what: &'static str,
        /// Elements of the layout.
        expected: usize,
        /// Elements supplied.
        got: usize,
    },
}

impl RowLayout {
    /// Rows with the first `lengths[r]` of `cols` columns active; a length may be 0.
    ///
    /// # Errors
    /// [`LayoutError::RowLength`] for a length above `cols`.
    pub fn ragged(cols: usize, lengths: &[usize]) -> Result<Self, LayoutError> {
        let mut offsets = vec![0];
        for (row, &got) in lengths.iter().enumerate() {
            if got > cols {
                return Err(LayoutError::RowLength { row, cols, got });
            }
            offsets.push(offsets[row] + got);
        }
        Ok(Self { cols, offsets })
    }

    /// Row `r` sees the first `r + 1 + offset` columns, or all if there are fewer.
    #[must_use]
    pub fn causal(rows: usize, cols: usize, offset: usize) -> Self {
        let mut offsets = vec![0];
        for row in 0..rows {
            offsets.push(offsets[row] + cols.min((row + 1).saturating_add(offset)));
        }
        Self { cols, offsets }
    }

    /// A digest of the layout.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"pfss row layout v1");
        for &number in core::iter::once(&self.cols).chain(&self.offsets) {
            hasher.update(&(number as u64).to_le_bytes());
        }
        *hasher.finalize().as_bytes()
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Columns of the dense tensor.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of active elements.
    #[must_use]
    pub fn active(&self) -> usize {
        self.offsets[self.rows()]
    }

    /// Where each row lies in the packed order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.offsets.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// The active elements of a dense tensor, row after row.
    ///
    /// # Errors
    /// [`LayoutError::Elements`] unless `dense` has `rows * cols` elements.
    pub fn gather(&self, dense: &[u64]) -> Result<Vec<u64>, LayoutError> {
        check("dense", self.rows() * self.cols, dense.len())?;
        let row = |(row, range): (usize, Range<usize>)| &dense[row * self.cols..][..range.len()];
        Ok(self.ranges().enumerate().flat_map(row).copied().collect())
    }

    /// The dense tensor with the given active elements and 0 everywhere else.
    ///
    /// If the elements are shares, the zeros are shares of 0.
    ///
    /// # Errors
    /// [`LayoutError::Elements`] unless the length of `packed` is the number of active elements.
    pub fn scatter(&self, packed: &[u64]) -> Result<Vec<u64>, LayoutError> {
        check("active", self.active(), packed.len())?;
        let mut dense = vec![0; self.rows() * self.cols];
        for (row, range) in self.ranges().enumerate() {
            dense[row * self.cols..][..range.len()].copy_from_slice(&packed[range]);
        }
        Ok(dense)
    }
}

fn check(what: &'static str, expected: usize, got: usize) -> Result<(), LayoutError> {
    if expected == got { Ok(()) } else { Err(LayoutError::Elements { what, expected, got }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causal_rows_have_their_definition_s_lengths() {
        for (rows, cols, offset) in [(0, 5, 0), (5, 5, 0), (7, 4, 0), (4, 9, 3), (3, 2, usize::MAX), (2, 0, 1)] {
            let lengths: Vec<usize> = (0..rows).map(|r: usize| cols.min((r + 1).saturating_add(offset))).collect();
            let layout = RowLayout::causal(rows, cols, offset);
            assert_eq!(Ok(layout.clone()), RowLayout::ragged(cols, &lengths));
            assert_eq!(layout.active(), lengths.iter().sum::<usize>());
        }
        assert_eq!(RowLayout::causal(128, 128, 0).active(), 128 * 129 / 2);
    }

    #[test]
    fn gathering_undoes_scattering_and_inactive_elements_are_zero() {
        let layout = RowLayout::ragged(4, &[0, 3, 4, 1]).unwrap();
        let packed: Vec<u64> = (1..9).collect();
        let dense = layout.scatter(&packed).unwrap();
        assert_eq!(dense, [0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 7, 8, 0, 0, 0]);
        assert_eq!(layout.gather(&dense).unwrap(), packed);
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let refused = RowLayout::ragged(4, &[4, 5]);
        assert_eq!(refused, Err(LayoutError::RowLength { row: 1, cols: 4, got: 5 }));
        let layout = RowLayout::ragged(4, &[1, 2]).unwrap();
        let elements = |what, expected, got| LayoutError::Elements { what, expected, got };
        assert_eq!(layout.gather(&[0; 7]), Err(elements("dense", 8, 7)));
        assert_eq!(layout.scatter(&[0; 4]), Err(elements("active", 3, 4)));
    }
}
