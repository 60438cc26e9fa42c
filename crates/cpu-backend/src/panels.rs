//! Products of a few rows with a wide matrix.
//!
//! The matrix is read where it lies, a panel of its columns at a time.
//!
//! Each element of the result is one chain of sums over k in its order, so its bits do not depend
//! on how many rows there are. Panels that were packed before would be read a tenth faster, but
//! packing is another pass over the matrix.

use crate::simd::{LaneKernel, floats::Floats};

/// Rows of B ahead of the one in use whose panel is fetched into the cache.
const AHEAD: usize = 8;

/// The addend of a product.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// The same row for all rows of C.
    Row(&'a [f32]),
    /// What C holds.
    Result,
    /// Nothing.
    Zero,
    /// What C holds, at the end: the sum of the terms does not begin with it.
    Last,
    /// Nothing, or what C holds as for [`Last`](Self::Last), and the terms times a factor.
    Scaled {
        /// The factor of the sum of the terms.
        alpha: f32,
        /// Whether the product is added to C.
        adds: bool,
    },
}

/// `C = start + A B`, with A of `rows` rows of k, and B of k rows of n.
///
/// The rows of each matrix lie a stride apart. Only [`Start::Scaled`] multiplies the product.
pub(crate) struct PanelProduct<'a> {
    pub(crate) rows: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
    pub(crate) a: &'a [f32],
    pub(crate) a_row: usize,
    pub(crate) b: &'a [f32],
    pub(crate) b_row: usize,
    pub(crate) start: Start<'a>,
    pub(crate) c: &'a mut [f32],
    pub(crate) c_row: usize,
}

impl<L: Floats> LaneKernel<L> for PanelProduct<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        let mut j = 0;
        // The most sums that fit the registers next to a row of the panel: 24 of 32, 12 of 16, or 4 of 8.
        if const { L::REGISTERS == 32 } {
            while j + 3 * L::N <= self.n {
                self.panel::<L, 3, false>(l, j);
                j += 3 * L::N;
            }
        }
        while j + 2 * L::N <= self.n {
            self.panel::<L, 2, false>(l, j);
            j += 2 * L::N;
        }
        if j + L::N <= self.n {
            self.panel::<L, 1, false>(l, j);
            j += L::N;
        }
        if j < self.n {
            self.panel::<L, 1, true>(l, j);
        }
    }
}

impl PanelProduct<'_> {
    /// The columns of `V` vectors from `j`, or all that are left if they are only `PART` of one.
    #[inline(always)]
    fn panel<L: Floats, const V: usize, const PART: bool>(&mut self, l: L, j: usize) {
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
    }

    /// `R` rows from `i` of a panel from `j`; returns `R`.
    #[inline(always)]
    fn tile<L: Floats, const R: usize, const V: usize, const PART: bool>(&mut self, l: L, i: usize, j: usize) -> usize {
        let width = if PART { self.n - j } else { V * L::N };
        let mut rows = [&self.a[..0]; R];
        let mut sums = [[l.splat(0.0); V]; R];
        for (r, (row, sums)) in rows.iter_mut().zip(&mut sums).enumerate() {
            *row = &self.a[(i + r) * self.a_row..][..self.k];
            let start = match self.start {
                Start::Row(start) => &start[j..][..width],
                Start::Result => &self.c[(i + r) * self.c_row + j..][..width],
                Start::Zero | Start::Last | Start::Scaled { .. } => continue,
            };
            load::<L, V, PART>(l, start, sums);
        }
        let mut b = [l.splat(0.0); V];
        for p in 0..self.k {
            let at = p * self.b_row + j;
            for v in 0..V {
                l.prefetch(self.b, at + AHEAD * self.b_row + v * L::N);
            }
            load::<L, V, PART>(l, &self.b[at..][..width], &mut b);
            for (row, sums) in rows.iter().zip(&mut sums) {
                let a = l.splat(row[p]);
                for (sum, &b) in sums.iter_mut().zip(&b) {
                    *sum = l.mul_add(a, b, *sum);
                }
            }
        }
        for (r, mut sums) in sums.into_iter().enumerate() {
            let c = &mut self.c[(i + r) * self.c_row + j..][..width];
            if let Start::Scaled { alpha, .. } = self.start {
                let alpha = l.splat(alpha);
                for sum in &mut sums {
                    *sum = l.mul(alpha, *sum);
                }
            }
            if let Start::Last | Start::Scaled { adds: true, .. } = self.start {
                let mut before = [l.splat(0.0); V];
                load::<L, V, PART>(l, c, &mut before);
                for (sum, before) in sums.iter_mut().zip(before) {
                    *sum = l.add(before, *sum);
                }
            }
            for (v, sum) in sums.into_iter().enumerate() {
                if PART {
                    l.store_partial(&mut c[v * L::N..], sum);
                } else {
                    l.store(&mut c[v * L::N..], sum);
                }
            }
        }
        R
    }
}

/// `V` vectors of `s`, or the one that `s` is a `PART` of.
#[inline(always)]
pub(crate) fn load<L: Floats, const V: usize, const PART: bool>(l: L, s: &[f32], into: &mut [L::V; V]) {
    for (v, into) in into.iter_mut().enumerate() {
        *into = if PART { l.load_partial(&s[v * L::N..], 0.0) } else { l.load(&s[v * L::N..]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{dispatch, levels};

    fn values(seed: u64, count: usize) -> Vec<f32> {
        let mut rng = fastrand::Rng::with_seed(seed);
        core::iter::repeat_with(|| 2.0 * rng.f32() - 1.0).take(count).collect()
    }

    /// Columns around every number of vectors, rows around every tile, strides longer than rows.
    #[test]
    fn products_are_close_to_their_definition_and_rows_do_not_depend_on_each_other() {
        for simd in levels() {
            for (rows, k, n) in
                [(1, 0, 5), (1, 1, 1), (2, 9, 16), (3, 20, 33), (5, 7, 95), (8, 64, 144), (13, 33, 50), (17, 5, 77)]
            {
                let (a_row, b_row, c_row) = (k + 2, n + 3, n + 1);
                let (a, b) = (values(1, rows * a_row), values(2, k * b_row));
                let row = values(3, n);
                let before = values(4, rows * c_row);
                let mut c = before.clone();
                let start = Start::Row(&row);
                dispatch(simd, PanelProduct { rows, k, n, a: &a, a_row, b: &b, b_row, start, c: &mut c, c_row });
                for (i, (c, before)) in c.chunks(c_row).zip(before.chunks(c_row)).enumerate() {
                    for j in 0..n {
                        let term = |p: usize| f64::from(a[i * a_row + p]) * f64::from(b[p * b_row + j]);
                        let want = f64::from(row[j]) + (0..k).map(term).sum::<f64>();
                        assert!((f64::from(c[j]) - want).abs() < 1e-5, "{simd:?} {rows}x{k}x{n}: {i}, {j}");
                    }
                    assert_eq!(c[n..], before[n..], "{simd:?}");
                    let mut alone = before.to_vec();
                    alone[..n].copy_from_slice(&row);
                    let (rows, a, start) = (1, &a[i * a_row..], Start::Result);
                    dispatch(simd, PanelProduct { rows, k, n, a, a_row, b: &b, b_row, start, c: &mut alone, c_row });
                    assert_eq!(alone, c, "{simd:?} {rows}x{k}x{n}: row {i}");
                }
            }
        }
    }
}
