//! Cholesky decompositions of small matrices that leave out dependent columns.
//!
//! A dependent column depends on the columns before it.
//!
//! Both take the upper triangle of G, row by row, and subtract from the rows below the multiple of
//! a pivot's row that makes the pivot's column zero. The lower triangle is neither read nor, until
//! the end, written.
//!
//! Row `j` of R, with `G = R^T R`, is what remains of row `j` of G over the root of its pivot. Then
//! `R_ji` times this row is subtracted from each row `i > j`.

use core_types::params::factor::least_pivot;

use crate::simd::LaneKernel;

/// `y -= factor x`. Lengths are equal.
#[inline(always)]
fn subtract(y: &mut [f64], factor: f64, x: &[f64]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y -= factor * x;
    }
}

/// The least pivot of each column that is not left out.
#[inline(always)]
fn least_pivots(side: usize, matrix: &[f64]) -> impl Iterator<Item = f64> {
    matrix.iter().step_by(side + 1).map(move |&diagonal| least_pivot(side as u64, diagonal))
}

/// Row `pivot` of the matrix and row `other`.
#[inline(always)]
fn rows(matrix: &mut [f64], side: usize, pivot: usize, other: usize) -> (&[f64], &mut [f64]) {
    if other < pivot {
        let (above, below) = matrix.split_at_mut(pivot * side);
        (&below[..side], &mut above[other * side..][..side])
    } else {
        let (above, below) = matrix.split_at_mut(other * side);
        (&above[pivot * side..][..side], &mut below[..side])
    }
}

/// Replaces G by the upper triangular R with `R^T R = G`.
///
/// Rows of columns that are left out are zero.
pub(super) struct CholeskyFactor<'a> {
    pub(super) side: usize,
    pub(super) matrix: &'a mut [f64],
}

impl<L> LaneKernel<L> for CholeskyFactor<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let Self { side, matrix } = self;
        let least: Vec<f64> = least_pivots(side, matrix).collect();
        for (j, least) in least.into_iter().enumerate() {
            let pivot = matrix[j * side + j];
            if pivot > least && pivot.is_finite() {
                let root = 1.0 / pivot.sqrt();
                for x in &mut matrix[j * side + j..(j + 1) * side] {
                    *x *= root;
                }
                for i in j + 1..side {
                    let (row, below) = rows(matrix, side, j, i);
                    subtract(&mut below[i..], row[i], &row[i..]);
                }
            } else {
                matrix[j * side..(j + 1) * side].fill(0.0);
            }
            matrix[j * side..j * side + j].fill(0.0);
        }
    }
}

/// Replaces G by `scale R^-1`, with columns of zeros for columns left out.
///
/// Rows above the pivot store the part of R^-1 computed so far, up to the length of its columns:
/// every subtraction from rows of G is applied to rows of the unit matrix too.
pub(super) struct Inverse<'a> {
    pub(super) side: usize,
    pub(super) matrix: &'a mut [f64],
    pub(super) scale: f64,
}

impl<L> LaneKernel<L> for Inverse<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let Self { side, matrix, scale } = self;
        // The least pivots, then the inverses of the pivots' roots.
        let mut roots: Vec<f64> = least_pivots(side, matrix).collect();
        // Each pivot eliminates its column from the other rows of G and of R^-1.
        for (j, root) in roots.iter_mut().enumerate() {
            let pivot = matrix[j * side + j];
            let is_kept = pivot > *root && pivot.is_finite();
            *root = if is_kept { 1.0 / pivot.sqrt() } else { 0.0 };
            if is_kept {
                let inverse = *root * *root;
                for i in (0..side).filter(|&i| i != j) {
                    let factor = if i < j { matrix[i * side + j] } else { matrix[j * side + i] } * inverse;
                    let (row, other) = rows(matrix, side, j, i);
                    let first = if i < j { j + 1 } else { i };
                    subtract(&mut other[first..], factor, &row[first..]);
                }
                for x in &mut matrix[j * side + j + 1..(j + 1) * side] {
                    *x *= -inverse;
                }
            } else {
                matrix[j * side + j + 1..(j + 1) * side].fill(0.0);
            }
        }
        // The columns are scaled by the roots, and the lower triangle is cleared.
        for (i, row) in matrix.chunks_exact_mut(side.max(1)).enumerate() {
            row[..i].fill(0.0);
            row[i] = 1.0;
            for (x, root) in row[i..].iter_mut().zip(&roots[i..]) {
                *x *= root * scale;
            }
        }
    }
}
