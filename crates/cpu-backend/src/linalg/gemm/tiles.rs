//! Products of panels, a tile of the result at a time.
//!
//! Each element of a piece is one chain of sums over the terms in their order, whatever the number
//! of rows and columns and wherever the element lies, so its bits depend on its row of A and its
//! column of B alone. Pieces are added to C one after the other, since errors of long chains grow
//! with their length.

use super::slot::{Empty, LINES};
use crate::simd::{
    LaneKernel,
    floats::{Floats, Pairs, TermPair, Terms},
};

/// `C = alpha A B`, or `C += alpha A B` unless it is the `first` piece.
///
/// Panels have `slots` slots each. C has `rows` rows that start every `c_row` elements.
pub(super) struct GemmTiles<'a, S> {
    pub(super) slots: usize,
    pub(super) a: &'a [[S; LINES]],
    pub(super) b: &'a [[S; LINES]],
    pub(super) alpha: f32,
    pub(super) first: bool,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) c: &'a mut [f32],
    pub(super) c_row: usize,
}

/// Vectors of sums that the registers hold.
const fn registers<S, L: Terms<S>>() -> usize {
    <L::Floats as Floats>::REGISTERS
}

impl<L: Floats> LaneKernel<L> for GemmTiles<'_, f32> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: L) {
        self.all(l);
    }
}

impl<P: Pairs> LaneKernel<P> for GemmTiles<'_, TermPair> {
    type Out = ();

    #[inline(always)]
    fn run(mut self, l: P) {
        self.all(l);
    }
}

impl<S: Empty> GemmTiles<'_, S> {
    #[inline(always)]
    fn all<L: Terms<S>>(&mut self, l: L) {
        let mut j = 0;
        while j < self.cols {
            // The most sums that fit the registers next to a slot of B: 24 of 32, 12 of 16, or 4 of 8.
            j += match (self.cols - j).div_ceil(LINES) {
                3.. if const { registers::<S, L>() == 32 } => self.columns::<L, 3>(l, j),
                1 if const { registers::<S, L>() == 32 } => self.columns::<L, 1>(l, j),
                _ => self.columns::<L, 2>(l, j),
            };
        }
    }

    /// `V` vectors of columns from `j`, which fill whole panels; returns their columns.
    #[inline(always)]
    fn columns<L: Terms<S>, const V: usize>(&mut self, l: L, j: usize) -> usize {
        let n = <L::Floats as Floats>::N;
        let mut i = 0;
        while i < self.rows {
            // A tile has the rows of one panel.
            i += match (self.rows - i).min(LINES - i % LINES) {
                8.. if const { registers::<S, L>() == 32 } => self.tile::<L, 8, V>(l, i, j),
                6.. if const { registers::<S, L>() == 16 } => self.tile::<L, 6, V>(l, i, j),
                4.. if const { registers::<S, L>() >= 16 } => self.tile::<L, 4, V>(l, i, j),
                2.. => self.tile::<L, 2, V>(l, i, j),
                _ => self.tile::<L, 1, V>(l, i, j),
            };
        }
        V * n
    }

    /// `R` rows from `i` of `V` vectors of columns from `j`; returns `R`.
    #[inline(always)]
    fn tile<L: Terms<S>, const R: usize, const V: usize>(&mut self, l: L, i: usize, j: usize) -> usize {
        let (f, n, slots) = (l.floats(), <L::Floats as Floats>::N, self.slots);
        // A window of sixteen lines that starts with line i: after the last panel there is one more slot.
        let a = &self.a[i / LINES * slots..].as_flattened()[i % LINES..][..slots * LINES];
        let a = &a.as_chunks::<LINES>().0[..slots];
        let mut b = [&self.b[..0]; V];
        for (v, b) in b.iter_mut().enumerate() {
            *b = &self.b[(j + v * n) / LINES * slots..][..slots];
        }
        let width = (self.cols - j).min(V * n);
        // All sums of the tile stay in registers over the slots.
        let mut sums = [[f.splat(0.0); V]; R];
        for p in 0..slots {
            let mut terms = [l.slot(S::ZERO); V];
            for (v, (terms, b)) in terms.iter_mut().zip(&b).enumerate() {
                *terms = l.slots(&b[p][v * n % LINES..]);
            }
            for (sums, &a) in sums.iter_mut().zip(&a[p]) {
                let a = l.slot(a);
                for (sum, &terms) in sums.iter_mut().zip(&terms) {
                    *sum = l.multiply_add(a, terms, *sum);
                }
            }
        }
        // The sums times alpha are stored, or added to the pieces before.
        let alpha = f.splat(self.alpha);
        for (r, sums) in sums.into_iter().enumerate() {
            let c = &mut self.c[(i + r) * self.c_row + j..][..width];
            for (v, sum) in sums.into_iter().enumerate() {
                let (c, sum) = (c.get_mut(v * n..).unwrap_or_default(), f.mul(alpha, sum));
                if c.len() < n {
                    let sum = if self.first { sum } else { f.add(f.load_partial(c, 0.0), sum) };
                    f.store_partial(c, sum);
                } else if self.first {
                    f.store(c, sum);
                } else {
                    f.store(c, f.add(f.load(c), sum));
                }
            }
        }
        R
    }
}
