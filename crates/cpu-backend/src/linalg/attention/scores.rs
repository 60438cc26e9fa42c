//! Blocks of scores, transposed: a row for each key, a column for each query.
//!
//! Rows lie [`QUERIES`] apart. Lanes of vectors are queries, so that no sum over keys crosses
//! lanes, and the order of each sum depends on the keys alone.

use super::{
    blocks::{KEYS, QUERIES, Rows, SIDE},
    operands::Operands,
};
use crate::{
    Simd,
    linalg::dropout::dropped,
    panels::{PanelProduct, Start},
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Rows that are worked on at once, to hide the latency of sums.
pub(super) const UNROLL: usize = 4;

/// Counters of a row of random words, whichever of a counter's words is the first.
const COUNTERS: usize = KEYS / 4 + 1;

/// A block of the queries and keys of a head.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// The batch and the head of the queries.
    pub(super) head: [usize; 2],
    pub(super) query: usize,
    /// At most [`QUERIES`].
    pub(super) queries: usize,
    pub(super) key: usize,
    /// At most [`KEYS`].
    pub(super) keys: usize,
}

impl Block {
    /// Columns that are computed. The last ones may stand for no query.
    pub(super) fn columns(&self) -> usize {
        self.queries.next_multiple_of(SIDE)
    }

    /// Rows that are computed; those after the last key hold -inf.
    pub(super) fn rows(&self) -> usize {
        self.keys.next_multiple_of(UNROLL)
    }

    /// Products of the rows of the keys and the columns `of`.
    pub(super) fn products(&self, simd: Simd, dim: usize, of: &[f32], rows: Rows<'_>, to: &mut [f32]) {
        dispatch(
            simd,
            PanelProduct {
                rows: self.keys,
                k: dim,
                n: self.columns(),
                a: rows.x,
                a_row: rows.stride,
                b: of,
                b_row: QUERIES,
                start: Start::Zero,
                c: to,
                c_row: QUERIES,
            },
        );
    }

    /// Scores of the columns `q`, which hold queries times the scale.
    ///
    /// Keys that a query does not read get -inf. `limits` belong to the queries.
    pub(super) fn scores(
        &self,
        simd: Simd,
        o: &Operands<'_>,
        limits: &[usize; QUERIES],
        q: &[f32],
        k: Rows<'_>,
        scores: &mut [f32],
    ) {
        self.products(simd, o.dim(), q, k, scores);
        scores[self.keys * QUERIES..self.rows() * QUERIES].fill(f32::NEG_INFINITY);
        if o.has_mask() {
            dispatch(simd, AddMask { o, block: self, scores: &mut *scores });
        }
        if limits[..self.queries].iter().any(|&limit| limit < self.key + self.keys) {
            let limits = limits.map(|limit| limit.saturating_sub(self.key).min(KEYS) as f32);
            dispatch(
                simd,
                LimitKeys { limits: &limits, columns: self.columns(), scores: &mut scores[..self.keys * QUERIES] },
            );
        }
    }

    /// Factors of dropout, laid out as scores; returns nothing if there is no dropout.
    pub(super) fn factors<'a>(&self, simd: Simd, o: &Operands<'_>, factors: &'a mut [f32]) -> &'a [f32] {
        if o.dropout().is_none() {
            return &[];
        }
        dispatch(simd, DropoutFactors { o, block: self, to: &mut *factors });
        factors
    }
}

/// Adds the mask; keys that it leaves out get -inf, whatever their scores are.
struct AddMask<'a> {
    o: &'a Operands<'a>,
    block: &'a Block,
    scores: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for AddMask<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { o, block, scores } = self;
        let (least, none) = (l.splat(f32::MIN), l.splat(f32::NEG_INFINITY));
        let (mut square, mut turned) = ([[0.0; SIDE]; SIDE], [[0.0; SIDE]; SIDE]);
        for t in (0..block.queries).step_by(SIDE) {
            for s in (0..block.keys).step_by(SIDE) {
                let keys = SIDE.min(block.keys - s);
                for (i, row) in square.iter_mut().enumerate().take(block.queries - t) {
                    o.addends(block.head, block.query + t + i, block.key + s, &mut row[..keys]);
                }
                l.transpose(&square, &mut turned);
                for (i, addends) in turned.iter().enumerate().take(keys) {
                    let scores = &mut scores[(s + i) * QUERIES + t..][..SIDE];
                    for lane in (0..SIDE).step_by(L::N) {
                        let (score, addend) = (l.load(&scores[lane..]), l.load(&addends[lane..]));
                        // Only -inf is below the least number.
                        let masked = l.select_gt(least, addend, none, l.add(score, addend));
                        l.store(&mut scores[lane..], masked);
                    }
                }
            }
        }
    }
}

/// Scores become -inf from row `limits[t]` of column t.
struct LimitKeys<'a> {
    limits: &'a [f32; QUERIES],
    columns: usize,
    scores: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for LimitKeys<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let none = l.splat(f32::NEG_INFINITY);
        for (s, scores) in self.scores.chunks_exact_mut(QUERIES).enumerate() {
            let s = l.splat(s as f32);
            for lane in (0..self.columns).step_by(L::N) {
                let limit = l.load(&self.limits[lane..]);
                let limited = l.select_gt(limit, s, l.load(&scores[lane..]), none);
                l.store(&mut scores[lane..], limited);
            }
        }
    }
}

struct DropoutFactors<'a> {
    o: &'a Operands<'a>,
    block: &'a Block,
    to: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for DropoutFactors<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { o, block, to } = self;
        let Some(p) = o.dropout() else { return };
        let ones = [1.0; KEYS];
        let (mut rows, mut square, mut turned) = ([[0.0; KEYS]; SIDE], [[0.0; SIDE]; SIDE], [[0.0; SIDE]; SIDE]);
        for t in (0..block.queries).step_by(SIDE) {
            for (i, row) in rows.iter_mut().enumerate().take(block.queries - t) {
                let first = o.weight_index(block.head, block.query + t + i, block.key);
                dropped::<COUNTERS>(p, first, &ones[..block.keys], &mut row[..block.keys]);
            }
            for s in (0..block.keys).step_by(SIDE) {
                for (square, row) in square.iter_mut().zip(&rows) {
                    square.copy_from_slice(&row[s..][..SIDE]);
                }
                l.transpose(&square, &mut turned);
                for (i, factors) in turned.iter().enumerate() {
                    to[(s + i) * QUERIES + t..][..SIDE].copy_from_slice(factors);
                }
            }
        }
    }
}
