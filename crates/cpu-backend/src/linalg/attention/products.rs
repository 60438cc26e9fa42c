//! Products with a transposed factor.

use crate::{
    panels::load,
    simd::{LaneKernel, floats::Floats},
};

/// `C += A^T B`, with A of k rows of `rows`, and B of k rows of n.
///
/// The rows of each matrix lie a stride apart. Each element of the sum is one chain over k in its
/// order, and is then added to C.
pub(super) struct TransposedProduct<'a> {
    pub(super) rows: usize,
    pub(super) k: usize,
    pub(super) n: usize,
    pub(super) a: &'a [f32],
    pub(super) a_row: usize,
    pub(super) b: &'a [f32],
    pub(super) b_row: usize,
    pub(super) c: &'a mut [f32],
    pub(super) c_row: usize,
}

impl<L: Floats> LaneKernel<L> for TransposedProduct<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        let mut j = 0;
        while j < self.n {
            // The most sums that fit the registers; four vectors are two pairs, since one alone has too few sums.
            j += match (self.n - j) / L::N {
                3 | 5.. if const { L::REGISTERS == 32 } => self.columns::<L, 3, false>(l, j),
                2.. => self.columns::<L, 2, false>(l, j),
                1 => self.columns::<L, 1, false>(l, j),
                _ => self.columns::<L, 1, true>(l, j),
            };
        }
    }
}

impl TransposedProduct<'_> {
    /// The columns of `V` vectors from `j`, or all that are left if they are only `PART` of one.
    ///
    /// Returns their number.
    #[inline(always)]
    fn columns<L: Floats, const V: usize, const PART: bool>(&mut self, l: L, j: usize) -> usize {
        let mut i = 0;
        while i < self.rows {
            i += match self.rows - i {
                8.. if const { L::REGISTERS == 32 } => self.tile::<L, 8, V, PART>(l, i, j),
                6.. if const { L::REGISTERS == 16 } => self.tile::<L, 6, V, PART>(l, i, j),
                4.. if const { L::REGISTERS >= 16 } => self.tile::<L, 4, V, PART>(l, i, j),
                2.. => self.tile::<L, 2, V, PART>(l, i, j),
                _ => self.tile::<L, 1, V, PART>(l, i, j),
            };
        }
        if PART { self.n - j } else { V * L::N }
    }

    /// `R` rows from `i` of the columns from `j`; returns `R`.
    #[inline(always)]
    fn tile<L: Floats, const R: usize, const V: usize, const PART: bool>(&mut self, l: L, i: usize, j: usize) -> usize {
        let width = if PART { self.n - j } else { V * L::N };
        let mut sums = [[l.splat(0.0); V]; R];
        let mut b = [l.splat(0.0); V];
        for p in 0..self.k {
            let a = &self.a[p * self.a_row + i..][..R];
            load::<L, V, PART>(l, &self.b[p * self.b_row + j..][..width], &mut b);
            for (sums, &a) in sums.iter_mut().zip(a) {
                let a = l.splat(a);
                for (sum, &b) in sums.iter_mut().zip(&b) {
                    *sum = l.mul_add(a, b, *sum);
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            let c = &mut self.c[(i + r) * self.c_row + j..][..width];
            let mut before = [l.splat(0.0); V];
            load::<L, V, PART>(l, c, &mut before);
            for (v, (sum, before)) in sums.into_iter().zip(before).enumerate() {
                let c = &mut c[v * L::N..];
                if PART {
                    l.store_partial(c, l.add(before, sum));
                } else {
                    l.store(c, l.add(before, sum));
                }
            }
        }
        R
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{dispatch, levels};

    /// Rows around every tile, columns around every number of vectors, strides longer than rows.
    #[test]
    fn products_are_close_to_their_definition_and_rows_do_not_depend_on_each_other() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut values = |count: usize| -> Vec<f32> { (0..count).map(|_| 2.0 * rng.f32() - 1.0).collect() };
        for simd in levels() {
            for (rows, k, n) in [(1, 0, 5), (1, 3, 1), (2, 9, 16), (7, 20, 33), (17, 7, 95), (48, 5, 64), (13, 33, 50)]
            {
                let (a_row, b_row, c_row) = (rows + 2, n + 3, n + 1);
                let (a, b, before) = (values(k * a_row), values(k * b_row), values(rows * c_row));
                let product = |a: &[f32], rows: usize, c: &mut [f32]| {
                    dispatch(simd, TransposedProduct { rows, k, n, a, a_row, b: &b, b_row, c, c_row });
                };
                let mut c = before.clone();
                product(&a, rows, &mut c);
                for (i, (c, before)) in c.chunks(c_row).zip(before.chunks(c_row)).enumerate() {
                    for j in 0..n {
                        let term = |p: usize| f64::from(a[p * a_row + i]) * f64::from(b[p * b_row + j]);
                        let want = f64::from(before[j]) + (0..k).map(term).sum::<f64>();
                        assert!((f64::from(c[j]) - want).abs() < 1e-5, "{simd:?} {rows}x{k}x{n}: {i}, {j}");
                    }
                    assert_eq!(c[n..], before[n..], "{simd:?}");
                    let mut alone = before.to_vec();
                    product(a.get(i..).unwrap_or_default(), 1, &mut alone);
                    assert_eq!(alone, c, "{simd:?} {rows}x{k}x{n}: row {i}");
                }
            }
        }
    }
}
