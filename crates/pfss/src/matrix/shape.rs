//! The shapes of products of matrices and of weights, and their costs.

use core_types::Ring;

use crate::{BundleError, Party, secret::seed::Seed};

/// A batch of products of matrices `rows x inner` and `inner x cols`, all row-major. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixShape {
    /// Number of products.
    pub batch: usize,
    /// Rows of the first factor and of the product.
    pub rows: usize,
    /// Columns of the first factor and rows of the second.
    pub inner: usize,
    /// Columns of the second factor and of the product.
    pub cols: usize,
}

impl MatrixShape {
    /// Numbers of elements of the first factor, the second factor and the product.
    ///
    /// They include the batch, and are saturating.
    #[must_use]
    pub const fn lens(self) -> [usize; 3] {
        [
            self.batch.saturating_mul(self.rows).saturating_mul(self.inner),
            self.batch.saturating_mul(self.inner).saturating_mul(self.cols),
            self.batch.saturating_mul(self.rows).saturating_mul(self.cols),
        ]
    }

    /// Bytes that each party sends for it in `ring`, including the step digest, and rounds.
    ///
    /// Both factors are opened, with the bits of `ring` for each element, in whole bytes;
    /// [`WeightShape::product_traffic`] is for opened weights.
    #[must_use]
    pub const fn traffic(self, ring: Ring) -> (u64, u64) {
        let [left, right, _] = self.lens();
        opening(ring, left.saturating_add(right))
    }

    /// Bytes of `party`'s triple after its header, saturating.
    ///
    /// They are a seed, and party 1's share of the product of the masks.
    #[must_use]
    pub const fn key_bytes(self, party: Party) -> u64 {
        let [_, _, out] = self.lens();
        let words = match party {
            Party::Zero => 0,
            Party::One => out as u64,
        };
        words.saturating_mul(8).saturating_add(Seed::BYTES as u64)
    }

    /// The lengths, if 8 bytes for each element fit the address space.
    pub(super) fn checked_lens(self) -> Result<[usize; 3], BundleError> {
        let lens = self.lens();
        let total = lens.iter().try_fold(0usize, |sum, len| sum.checked_add(*len)).and_then(|sum| sum.checked_mul(8));
        match total {
            Some(total) if isize::try_from(total).is_ok() => Ok(lens),
            _ => Err(BundleError::Overflow {
                count: lens.iter().fold(0, |sum: u64, &len| sum.saturating_add(len as u64)),
            }),
        }
    }

    /// The products modulo `2^64`, of slices of the right lengths.
    #[must_use]
    pub fn multiply(self, x: &[u64], y: &[u64]) -> Vec<u64> {
        let [_, _, len] = self.lens();
        let mut out = vec![0u64; len];
        if len == 0 || self.inner == 0 {
            return out;
        }
        let (lefts, rights) = (x.chunks_exact(self.rows * self.inner), y.chunks_exact(self.inner * self.cols));
        for ((left, right), product) in lefts.zip(rights).zip(out.chunks_exact_mut(self.rows * self.cols)) {
            for (row, sums) in left.chunks_exact(self.inner).zip(product.chunks_exact_mut(self.cols)) {
                for (&factor, factors) in row.iter().zip(right.chunks_exact(self.cols)) {
                    for (sum, &other) in sums.iter_mut().zip(factors) {
                        *sum = sum.wrapping_add(factor.wrapping_mul(other));
                    }
                }
            }
        }
        out
    }
}

/// The shape of a matrix of weights, the second factor of every product by it. Public.
///
/// It is row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeightShape {
    /// Rows: the columns of each first factor.
    pub inner: usize,
    /// Columns: the columns of each product.
    pub cols: usize,
}

impl WeightShape {
    /// Number of elements, saturating.
    #[must_use]
    pub const fn elements(self) -> usize {
        self.inner.saturating_mul(self.cols)
    }

    /// The product of a first factor of `rows` rows by the weights.
    #[must_use]
    pub const fn product(self, rows: usize) -> MatrixShape {
        MatrixShape { batch: 1, rows, inner: self.inner, cols: self.cols }
    }

    /// Bytes that each party sends to open the weights, including the step digest, and rounds.
    #[must_use]
    pub const fn traffic(self, ring: Ring) -> (u64, u64) {
        opening(ring, self.elements())
    }

    /// As [`traffic`](Self::traffic), for a product of `rows` rows by opened weights.
    #[must_use]
    pub const fn product_traffic(self, ring: Ring, rows: usize) -> (u64, u64) {
        let [left, _, _] = self.product(rows).lens();
        opening(ring, left)
    }
}

/// Bytes of a message that opens `elements` of `ring`, saturating, and one round.
const fn opening(ring: Ring, elements: usize) -> (u64, u64) {
    let bytes = (elements as u128 * ring.bits() as u128).div_ceil(8) + 16; // a step digest has 16
    (if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 }, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_fit_the_address_space_or_are_refused() {
        // Two factors of 2^59 - 1 words and one of the product take eight bytes less than 2^63.
        let shape = |inner| MatrixShape { batch: 1, rows: 1, inner, cols: 1 };
        assert_eq!(shape((1 << 59) - 1).checked_lens(), Ok([(1 << 59) - 1, (1 << 59) - 1, 1]));
        let overflow = BundleError::Overflow { count: (1 << 60) + 1 };
        assert_eq!(shape(1 << 59).checked_lens(), Err(overflow));
    }
}
