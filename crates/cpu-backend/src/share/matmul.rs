//! Products of matrices of words modulo 2^64.
//!
//! A tile of sums stays in registers, and a panel of y in the cache: the columns of y that a tile
//! reads are copied there, for all rows of a part. Sums modulo 2^64 are the same in any order, so
//! the terms may be cut into panels.
//!
//! Only sizes and the two factors choose branches and addresses, never a word of a matrix.

use core_types::params::share::MatmulWordsParams;

use crate::simd::{LaneKernel, ring::RingWords};

/// Rows of a tile.
const ROWS: usize = 4;
/// Most vectors of columns in a tile. Its sums take half of the 32 registers of AVX-512.
const VECTORS: usize = 4;
/// Terms of a panel, which takes 32 KiB at the widest level.
const TERMS: usize = 128;
/// Words of the widest vector.
const WIDEST: usize = 8;
/// Words of a panel at the widest level.
const PANEL: usize = TERMS * VECTORS * WIDEST;

/// The operands of a batch of products, except their results.
#[derive(Clone, Copy)]
pub(super) struct MatrixFactors<'a> {
    rows: usize,
    inner: usize,
    cols: usize,
    alpha: u64,
    beta: u64,
    x: &'a [u64],
    y: &'a [u64],
}

/// A rectangle of the results, whose rows may be of several products.
pub(super) struct MatrixPart<'a, 'b, 'c> {
    of: MatrixFactors<'a>,
    /// Its first row, counted over the rows of all products.
    row: usize,
    /// Its first column.
    col: usize,
    out: &'b mut [&'c mut [u64]],
}

impl<'a> MatrixFactors<'a> {
    /// The operands of products that are not empty; both views have the lengths of `params`.
    pub(super) fn new(params: &MatmulWordsParams, x: &'a [u64], y: &'a [u64]) -> Self {
        let MatmulWordsParams { rows, inner, cols, alpha, beta, .. } = *params;
        let [rows, inner, cols] = [rows, inner, cols].map(|len| len as usize); // lengths of views fit
        Self { rows, inner, cols, alpha, beta, x, y }
    }

    /// The part whose first row and column these are, and whose rows are `out`.
    pub(super) fn part<'b, 'c>(self, row: usize, col: usize, out: &'b mut [&'c mut [u64]]) -> MatrixPart<'a, 'b, 'c> {
        MatrixPart { of: self, row, col, out }
    }
}

impl<L: RingWords> LaneKernel<L> for MatrixPart<'_, '_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { of, row: first, col, out } = self;
        // `beta out`, to which all products are added.
        for row in &mut *out {
            match of.beta {
                0 => row.fill(0),
                1 => {}
                beta => {
                    for word in row.iter_mut() {
                        *word = word.wrapping_mul(beta);
                    }
                }
            }
        }
        if of.inner == 0 {
            return;
        }
        // The rows of one product after the other.
        let mut panel = [0; PANEL];
        let mut at = 0;
        while at < out.len() {
            let row = first + at;
            let count = (of.rows - row % of.rows).min(out.len() - at);
            let product = ProductRows {
                inner: of.inner,
                cols: of.cols,
                alpha: of.alpha,
                x: &of.x[row * of.inner..][..count * of.inner],
                y: &of.y[row / of.rows * of.inner * of.cols + col..],
                panel: &mut panel,
                out: &mut out[at..at + count],
            };
            product.accumulate(l);
            at += count;
        }
        // Factors may be secret, and the thread may keep running: clear their copies on its stack.
        panel.fill(0);
        core::hint::black_box(&mut panel);
    }
}

/// Rows of one product, at least one.
struct ProductRows<'a, 'b, 'c> {
    /// Terms of each sum.
    inner: usize,
    /// The distance between rows of y.
    cols: usize,
    alpha: u64,
    /// These rows of x.
    x: &'a [u64],
    /// The second factor from the first column on.
    y: &'a [u64],
    panel: &'b mut [u64; PANEL],
    out: &'b mut [&'c mut [u64]],
}

impl ProductRows<'_, '_, '_> {
    /// Adds the product to `out`, one panel after the other.
    #[inline(always)]
    fn accumulate<L: RingWords>(mut self, l: L) {
        let width = self.out[0].len();
        let mut first = 0;
        while first < self.inner {
            let mut j = 0;
            while j < width {
                // A tile has fewer than twice the columns that are left, or it is one vector.
                j += match (width - j).div_ceil(L::N) {
                    3.. if const { L::N == WIDEST } => self.columns::<L, VECTORS>(l, first, j),
                    2.. => self.columns::<L, 2>(l, first, j),
                    _ => self.columns::<L, 1>(l, first, j),
                };
            }
            first += TERMS;
        }
    }

    /// `V` vectors of columns from `j`, of the terms from `first`; returns their columns.
    #[inline(always)]
    fn columns<L: RingWords, const V: usize>(&mut self, l: L, first: usize, j: usize) -> usize {
        let width = (self.out[0].len() - j).min(V * L::N);
        let terms = TERMS.min(self.inner - first);
        // The panel: these columns of y, and zeros to whole vectors.
        for (p, line) in self.panel.chunks_exact_mut(V * L::N).take(terms).enumerate() {
            let (columns, rest) = line.split_at_mut(width);
            columns.copy_from_slice(&self.y[(first + p) * self.cols + j..][..width]);
            rest.fill(0);
        }
        let mut i = 0;
        while i < self.out.len() {
            i += match self.out.len() - i {
                ROWS.. => self.tile::<L, ROWS, V>(l, first, i, j),
                _ => self.tile::<L, 1, V>(l, first, i, j),
            };
        }
        V * L::N
    }

    /// `R` rows from `i` of the columns in the panel, which begin at `j`; returns `R`.
    #[inline(always)]
    fn tile<L: RingWords, const R: usize, const V: usize>(&mut self, l: L, first: usize, i: usize, j: usize) -> usize {
        let terms = TERMS.min(self.inner - first);
        let mut rows = [&self.x[..0]; R];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = &self.x[(i + r) * self.inner + first..][..terms];
        }
        // All sums of the tile stay in registers over the terms.
        let mut sums = [[l.splat(0); V]; R];
        for (p, line) in self.panel.chunks_exact(V * L::N).take(terms).enumerate() {
            let mut factors = [l.splat(0); V];
            for (v, factor) in factors.iter_mut().enumerate() {
                *factor = l.load(&line[v * L::N..]);
            }
            for (row, sums) in rows.iter().zip(&mut sums) {
                let x = l.splat(row[p]);
                for (sum, &factor) in sums.iter_mut().zip(&factors) {
                    *sum = l.add(*sum, l.mul(x, factor));
                }
            }
        }
        // The results get `alpha` times the sums.
        let alpha = l.splat(self.alpha);
        for (r, sums) in sums.into_iter().enumerate() {
            let out = &mut self.out[i + r][j..];
            for (v, sum) in sums.into_iter().enumerate() {
                let (out, sum) = (out.get_mut(v * L::N..).unwrap_or_default(), l.mul(alpha, sum));
                if out.len() >= L::N {
                    l.store(out, l.add(l.load(out), sum));
                } else {
                    let mut words = [0u64; WIDEST];
                    l.store(&mut words, sum);
                    for (out, word) in out.iter_mut().zip(words) {
                        *out = out.wrapping_add(word);
                    }
                }
            }
        }
        R
    }
}
