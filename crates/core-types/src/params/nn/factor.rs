//! Parameters of factorisations of matrices, and the power of two that keeps them in range.

use core::fmt::Debug;

use bytemuck::{Pod, Zeroable};

use crate::params::sizes::{Sizes, sizes};

/// Most rows and columns of a small matrix: one that a single block of a GPU works on.
pub const MAX_SIDE: u64 = 1024;

/// Most rows and columns of a small matrix in the shared memory of a GPU block.
///
/// Such a matrix takes 72 KiB of f64. Larger matrices stay in global memory.
pub const SHARED_SIDE: u64 = 96;

/// Singular values up to this fraction of the greatest one count as zero.
///
/// Their singular vectors are rounding of f32.
pub const LEAST_SIGMA: f64 = 1.0 / (1 << 20) as f64;

/// Greatest number of sweeps of a Jacobi iteration.
///
/// A few are enough; the bound ends the iteration on NaN.
pub const MOST_SWEEPS: u32 = 15;

/// Greatest relative product of two rows that are orthogonal for a Jacobi iteration.
///
/// The product of the rows is relative to the product of their lengths.
pub const ORTHOGONAL: f64 = 1e-14;

/// A row-major matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct MatrixParams {
    /// Number of rows.
    pub rows: u64,
    /// Number of columns.
    pub cols: u64,
}

sizes!(MatrixParams { rows, cols });

/// A row-major matrix of random signs.
///
/// The sign bit of element `i` is bit 31 of Philox word `i` at site 0, step 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SketchParams {
    /// Its shape.
    pub matrix: MatrixParams,
    /// Key of the generator.
    pub seed: u64,
}

impl Sizes for SketchParams {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        self.matrix.each_size(name, see);
    }
}

/// `Y = X C`, all row-major: X is `rows x inner`, C `inner x cols`, Y `rows x cols`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct TallParams {
    /// Rows of X and Y.
    pub rows: u64,
    /// Columns of X, rows of C.
    pub inner: u64,
    /// Columns of C and Y.
    pub cols: u64,
}

sizes!(TallParams { rows, inner, cols });

/// The greatest eigenvalues of a symmetric matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct JacobiParams {
    /// Rows and columns of the matrix.
    pub side: u64,
    /// How many are kept, at most `side`.
    pub kept: u64,
}

sizes!(JacobiParams { side, kept });

/// Columns of two matrices that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ColumnPairParams {
    /// Rows of the first matrix.
    pub rows: u64,
    /// Rows of the second matrix.
    pub other_rows: u64,
    /// Columns of each.
    pub cols: u64,
}

sizes!(ColumnPairParams { rows, other_rows, cols });

/// `y = alpha f x` for each element x of a matrix and the factor f of its column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct ScaleParams {
    /// The matrix.
    pub matrix: MatrixParams,
    /// The common factor.
    pub alpha: f32,
}

impl Sizes for ScaleParams {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        self.matrix.each_size(name, see);
    }
}

/// The exponent e for which `2^-e` scales a matrix to near 1.
///
/// `peak` is the bit pattern of the greatest magnitude, which is then in [0.5, 1), unless e would
/// leave -100..=100, so that the power and its inverse stay normal in f32.
#[inline]
#[must_use]
pub const fn scale_exponent(peak: u32) -> i32 {
    if peak == 0 {
        return 0;
    }
    let exponent = (peak >> 23 & 0xff) as i32 - 126;
    if exponent < -100 {
        -100
    } else if exponent > 100 {
        100
    } else {
        exponent
    }
}

/// `2^exponent` for an exponent of a normal number.
#[inline]
#[must_use]
pub const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Whether a matrix is finite, from the bit pattern `peak` of its greatest magnitude.
#[inline]
#[must_use]
pub const fn is_finite(peak: u32) -> bool {
    peak < 0x7f80_0000
}

/// The least nonzero pivot of a Cholesky decomposition of `side` columns.
///
/// Smaller pivots count as zero: they are only f32 rounding of the matrix's source. `diagonal` is
/// the square of one of the columns.
#[inline]
#[must_use]
pub fn least_pivot(side: u64, diagonal: f64) -> f64 {
    diagonal * (side as f64 * power_of_two(-50))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_brings_every_magnitude_near_one() {
        for x in [1.0f32, 0.5, 0.999, 1.001, 1e30, 7e-25, 1e-30] {
            let scaled = f64::from(x) * power_of_two(-scale_exponent(x.to_bits()));
            assert!((0.5..1.0).contains(&scaled), "{x}: {scaled}");
        }
        assert_eq!(scale_exponent(f32::MAX.to_bits()), 100);
        assert_eq!(scale_exponent(1), -100);
        assert_eq!(scale_exponent(0), 0);
        assert_eq!(power_of_two(-3), 0.125);
        assert_eq!(least_pivot(4, 8.0), 1.0 / (1u64 << 45) as f64);
    }

    #[test]
    fn numbers_are_told_from_what_is_none() {
        assert!(is_finite(0) && is_finite(f32::MAX.to_bits()));
        assert!(!is_finite(f32::INFINITY.to_bits()) && !is_finite(f32::NAN.to_bits()));
    }
}
