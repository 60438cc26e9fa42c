//! Factorisation steps: the ops of a truncated singular value decomposition besides GEMM.
//!
//! Decisions, such as how many columns are independent, are data of the device, so that nothing
//! waits for the host. "Small" matrices have at most [`MAX_SIDE`] rows and columns and are f64.

use core_types::params::factor::{
    ColumnPairParams, JacobiParams, MAX_SIDE, MatrixParams, ScaleParams, SketchParams, TallParams,
};

pub use super::sets::FactorOps;
use crate::{
    BufferMut,
    ops::{
        op,
        op::flop::{each, product},
    },
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! factor_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of truncated singular value decompositions.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range. Nothing
            /// is written then. No op waits.
            factor::FactorOps: Queue {
                chol_inverse(CholInverse),
                complete_columns(CompleteColumns),
                jacobi_eigen(JacobiEigen),
                matrix_peak(MatrixPeak),
                orient_columns(OrientColumns),
                scale_columns(ScaleColumns),
                sign_sketch(SignSketch),
                tall_gram(TallGram),
                tall_product(TallProduct),
            }
        }
    };
}

op! {
    /// The inverse C of the Cholesky factor of `G = Y^T Y`.
    ///
    /// C is upper triangular, and the columns of `Y C` are orthonormal.
    ///
    /// A column of Y that depends on those before it, up to what f32 holds of it
    /// ([`least_pivot`](core_types::params::factor::least_pivot)), is left out: its column of C is
    /// zero.
    pub struct CholInverse<'a, Q> as "chol_inverse" {
        /// Rows and columns of G.
        side: plain usize,
        /// G, a small matrix; only its upper triangle is read.
        gram: read f64 [side, side],
        /// Multiplies C by `2^-e`, if given.
        ///
        /// `e` is the exponent of a pattern, as in [`SignSketch`].
        peak: read_if u32 [1],
        /// C, zero below the diagonal.
        inverse: write f64 [side, side],
    }
    sizes(self) {
        let side = self.side as u64;
    }
    valid(self) {
        side <= MAX_SIDE, NOT_SMALL;
    }
    flop(self) {
        // A third of `side^3` each for the factor and its inverse: LAPACK Working Note 41.
        product(&[2, self.side as u64, self.side as u64, self.side as u64]) / 3
    }
}

op! {
    /// Replaces the columns from `rank` on so that all columns are orthonormal.
    ///
    /// The columns before `rank` must be orthonormal.
    ///
    /// A column becomes the unit vector of the row with the least part in the columns before it,
    /// the first of such rows, without its projection on those. Without any column before, they are
    /// the first unit vectors.
    pub struct CompleteColumns<'a, Q> as "complete_columns" {
        /// The shape of X, with at most one column per row.
        params: plain &'a MatrixParams,
        /// How many columns stay.
        rank: read u32 [1],
        /// X.
        x: write f32 [rows, cols],
    }
    sizes(self) {
        let MatrixParams { rows, cols } = *self.params;
    }
    valid(self) {
        rows < 1 << 31, TOO_MANY_ROWS;
        cols <= rows, "there are more columns than rows";
    }
}

op! {
    /// Eigenvectors of `G = B^T B` for its greatest eigenvalues.
    ///
    /// These are the right singular vectors of B. The singular values of B are written too.
    ///
    /// By one-sided Jacobi rotations of the rows of the Cholesky factor of G (Veselic, Hari, "A
    /// note on a one-sided Jacobi algorithm", 1989), in a fixed order. Vectors whose singular value
    /// is at most [`LEAST_SIGMA`](core_types::params::factor::LEAST_SIGMA) of the greatest are
    /// zero, and so is the value.
    pub struct JacobiEigen<'a, Q> as "jacobi_eigen" {
        /// How many of how many.
        params: plain &'a JacobiParams,
        /// G, a small matrix; only its upper triangle is read.
        gram: read f64 [side, side],
        /// Multiplies `vectors` and `sigma` by `2^e`, if given.
        ///
        /// `e` is the exponent of a pattern, as in [`SignSketch`].
        peak: read_if u32 [1],
        /// Unit vectors as columns, by falling singular value.
        vectors: write f64 [side, kept],
        /// The same, never multiplied, each divided by its singular value as it is without the
        /// power.
        inverse: write f64 [side, kept],
        /// The singular values, falling.
        sigma: write f32 [kept],
        /// How many of them are not zero.
        rank: write u32 [1],
    }
    sizes(self) {
        let JacobiParams { side, kept } = *self.params;
    }
    valid(self) {
        side <= MAX_SIDE, NOT_SMALL;
        kept <= side, "`kept` exceeds the number of eigenvectors";
    }
}

op! {
    /// The bit pattern of the greatest `|a|`, 0 without elements.
    ///
    /// Patterns are ordered like magnitudes, infinity comes after all of them and NaN after that,
    /// so the pattern also tells whether all elements are finite.
    pub struct MatrixPeak<'a, Q> as "matrix_peak" {
        /// The elements.
        a: read f32,
        /// The pattern.
        peak: write u32 [1],
    }
}

op! {
    /// Orients the columns of U and V by the signs of U.
    ///
    /// Columns of U and V, the singular vectors, are negated together, so that the entry of largest
    /// magnitude in each column of U is positive. Among entries of equal magnitude, the first
    /// counts.
    pub struct OrientColumns<'a, Q> as "orient_columns" {
        /// The shapes.
        params: plain &'a ColumnPairParams,
        /// U.
        u: write f32 [rows, cols],
        /// V.
        v: write f32 [other_rows, cols],
    }
    sizes(self) {
        let ColumnPairParams { rows, other_rows, cols } = *self.params;
    }
    valid(self) {
        rows.max(other_rows) < 1 << 31, TOO_MANY_ROWS;
    }
}

op! {
    /// `Y = X diag(alpha f)`.
    ///
    /// Each factor is multiplied by alpha and rounded, then multiplies its column.
    pub struct ScaleColumns<'a, Q> as "scale_columns" {
        /// Shape and common factor.
        params: plain &'a ScaleParams,
        /// X.
        x: read f32 [rows, cols],
        /// A factor for each column.
        factors: read f32 [cols],
        /// Y.
        y: write f32 [rows, cols],
    }
    sizes(self) {
        let MatrixParams { rows, cols } = self.params.matrix;
    }
    flop(self) {
        each(1, self.y.len())
    }
}

op! {
    /// Random signs times `2^-e`.
    ///
    /// `e` is the exponent returned by
    /// [`scale_exponent`](core_types::params::factor::scale_exponent).
    ///
    /// The product of a matrix and these signs is a sketch of its range: Halko, Martinsson, Tropp,
    /// "Finding Structure with Randomness", 2011, with signs in the place of normal variables. They
    /// are the same bits on every backend.
    pub struct SignSketch<'a, Q> as "sign_sketch" {
        /// Shape and seed.
        params: plain &'a SketchParams,
        /// The pattern of the greatest magnitude of the matrix to be sketched.
        peak: read u32 [1],
        /// The signs.
        omega: write f32 [rows, cols],
    }
    sizes(self) {
        let MatrixParams { rows, cols } = self.params.matrix;
    }
}

op! {
    /// `G = X^T X` with exact products and f64 sums, in an order that depends on the shape alone.
    pub struct TallGram<'a, Q> as "tall_gram" {
        /// The shape of X.
        params: plain &'a MatrixParams,
        /// X.
        x: read f32 [rows, cols],
        /// G, a small matrix.
        gram: write f64 [cols, cols],
    }
    sizes(self) {
        let MatrixParams { rows, cols } = *self.params;
    }
    valid(self) {
        rows < 1 << 31, TOO_MANY_ROWS;
        cols <= MAX_SIDE, NOT_SMALL;
    }
    flop(self) {
        let MatrixParams { rows, cols } = *self.params;
        product(&[rows, cols, cols.saturating_add(1)])
    }
}

op! {
    /// `Y = X C` with f64 sums, each rounded to f32 once.
    ///
    /// Coefficients may be so large that f32 sums would lose all digits.
    pub struct TallProduct<'a, Q> as "tall_product" {
        /// The shapes.
        params: plain &'a TallParams,
        /// X.
        x: read f32 [rows, inner],
        /// C, a small matrix.
        c: read f64 [inner, cols],
        /// Y.
        y: write f32 [rows, cols],
    }
    sizes(self) {
        let TallParams { rows, inner, cols } = *self.params;
    }
    valid(self) {
        rows < 1 << 31, TOO_MANY_ROWS;
        inner.max(cols) <= MAX_SIDE, NOT_SMALL;
    }
    flop(self) {
        let TallParams { rows, inner, cols } = *self.params;
        product(&[2, rows, inner, cols])
    }
}

/// Above [`MAX_SIDE`].
const NOT_SMALL: &str = "expected a matrix of at most 1024 rows and columns";

/// With 2^31 rows or more, which kernels could not index.
const TOO_MANY_ROWS: &str = "expected a matrix of fewer than 2^31 rows";
