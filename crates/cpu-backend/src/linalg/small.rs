//! Layers so small that packing their factors would cost more than it saves.

use crate::simd::{LaneKernel, floats::Floats};

/// A number of columns that is a whole number of pairs of vectors at every level.
const COLUMN_STEP: usize = 32;
/// B stays in the L1 and L2 caches while every block of rows walks over it.
const MAX_B: usize = 1 << 14;
/// A longer sum is one of pieces.
const MAX_TERMS: usize = 384;
const MAX_ROWS: usize = 64;

/// `C = max(alpha A B + bias, floor)` with unit strides along rows.
///
/// Operands go directly into registers, and results out through the epilogue. NaN stays.
pub(super) struct SmallLayer<'a> {
    pub(super) alpha: f32,
    pub(super) floor: f32,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) a: &'a [f32],
    pub(super) a_row: usize,
    pub(super) b: &'a [f32],
    pub(super) b_row: usize,
    pub(super) bias: &'a [f32],
    pub(super) c: &'a mut [f32],
    pub(super) c_row: usize,
}

/// Whether [`SmallLayer`] takes a product of this size.
///
/// The answer must not vary within one product, so `m` is the size before any cut.
pub(super) fn is_small(m: usize, n: usize, k: usize) -> bool {
    m <= MAX_ROWS && n.is_multiple_of(COLUMN_STEP) && k <= MAX_TERMS && k.saturating_mul(n) <= MAX_B
}

impl<L: Floats> LaneKernel<L> for SmallLayer<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        for j in (0..self.n).step_by(2 * L::N) {
            let mut i = 0;
            // Blocks of six, but never a last one of one or two rows after a six: 8 = 4 + 4, 7 = 4 + 3. Pairs of rows if
            // the registers hold no more.
            while i < self.m {
                i += match self.m - i {
                    6 | 9.. if const { L::REGISTERS >= 16 } => self.block::<L, 6>(l, i, j),
                    4 | 5 | 7 | 8 if const { L::REGISTERS >= 16 } => self.block::<L, 4>(l, i, j),
                    3 if const { L::REGISTERS >= 16 } => self.block::<L, 3>(l, i, j),
                    2.. => self.block::<L, 2>(l, i, j),
                    _ => self.block::<L, 1>(l, i, j),
                };
            }
        }
    }
}

impl SmallLayer<'_> {
    /// `R` rows from `i` by two vectors of columns from `j`; returns `R`.
    #[inline(always)]
    fn block<L: Floats, const R: usize>(&mut self, l: L, i: usize, j: usize) -> usize {
        let mut rows = [&self.a[..0]; R];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = &self.a[(i + r) * self.a_row..][..self.k];
        }
        let mut sums = [[l.splat(0.0); 2]; R];
        for p in 0..self.k {
            let b = &self.b[p * self.b_row + j..][..2 * L::N];
            let (b0, b1) = (l.load(b), l.load(&b[L::N..]));
            for (row, [s0, s1]) in rows.iter().zip(&mut sums) {
                let a = l.splat(row[p]);
                *s0 = l.mul_add(a, b0, *s0);
                *s1 = l.mul_add(a, b1, *s1);
            }
        }
        let bias = &self.bias[j..][..2 * L::N];
        let (bias0, bias1) = (l.load(bias), l.load(&bias[L::N..]));
        let (alpha, floor) = (l.splat(self.alpha), l.splat(self.floor));
        for (r, [s0, s1]) in sums.into_iter().enumerate() {
            let c = &mut self.c[(i + r) * self.c_row + j..][..2 * L::N];
            l.store(c, l.max(floor, l.add(l.mul(alpha, s0), bias0)));
            l.store(&mut c[L::N..], l.max(floor, l.add(l.mul(alpha, s1), bias1)));
        }
        R
    }
}
