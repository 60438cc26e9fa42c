//! The results of a block of queries, a block of keys after the other.
//!
//! With `m` the greatest score so far and `r = exp(m_before - m)`, a block of keys makes
//! `l = r l + sum exp(score - m)` and `y = r y + sum exp(score - m) v`; at the end, y is divided by
//! l, and `lse = m + ln l` (Milakov and Gimelshein, arXiv 1805.02867; Dao et al., FlashAttention,
//! arXiv 2205.14135).

use super::{
    blocks::{KEYS, QUERIES, ScaleRows, TransposeRows, cut, elements},
    operands::Operands,
    products::TransposedProduct,
    results::{Results, normalise},
    scores::{Block, UNROLL},
};
use crate::{
    Simd,
    linalg::vmath::{EXP_SCALE, exp_scaled},
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Lengths of the arrays of a task.
fn lens(o: &Operands<'_>) -> [usize; 5] {
    let dim = o.dim();
    let factors = if o.dropout().is_some() { KEYS * QUERIES } else { 0 };
    [dim * QUERIES, KEYS * QUERIES, QUERIES * dim, factors, if o.widens() { KEYS * dim } else { 0 }]
}

/// Elements of scratch of a task.
pub(super) fn scratch(o: &Operands<'_>) -> usize {
    elements(lens(o))
}

/// One task: the queries of a block from `first`.
pub(super) fn run(simd: Simd, o: &Operands<'_>, head: [usize; 2], first: usize, results: &Results<'_>) {
    let (dim, queries) = (o.dim(), QUERIES.min(o.p.queries as usize - first));
    let mut memory = vec![0.0; scratch(o)];
    let [q, scores, y, factors, wide] = cut(&mut memory, lens(o));
    let rows = o.queries_of(head).block(simd, first, queries, wide);
    dispatch(simd, TransposeRows { rows, count: queries, dim, factor: o.p.scale, to: &mut *q });
    let (limits, most) = o.limits(head[0], first, queries);
    let (keys, values) = (o.keys_of(o.kv_head(head)), o.values_of(o.kv_head(head)));
    let mut state = State { greatest: [f32::NEG_INFINITY; QUERIES], sum: [0.0; QUERIES], decay: [0.0; QUERIES] };
    for key in (0..most).step_by(KEYS) {
        let block = Block { head, query: first, queries, key, keys: KEYS.min(most - key) };
        // Scores become weights.
        block.scores(simd, o, &limits, q, keys.block(simd, key, block.keys, wide), scores);
        let factors = block.factors(simd, o, factors);
        let (rows, columns) = (block.rows(), block.columns());
        dispatch(simd, WeighBlock { rows, columns, factors, scores: &mut *scores, state: &mut state });
        // Multiplies the sums so far by the decay of their weights, then adds the block's sums.
        dispatch(simd, ScaleRows { dim, factors: &state.decay[..queries], x: &mut *y });
        let v = values.block(simd, key, block.keys, wide);
        dispatch(
            simd,
            TransposedProduct {
                rows: queries,
                k: block.keys,
                n: dim,
                a: scores,
                a_row: QUERIES,
                b: v.x,
                b_row: v.stride,
                c: &mut *y,
                c_row: dim,
            },
        );
    }
    let mut logs = [0.0; QUERIES];
    for (t, log) in logs.iter_mut().enumerate().take(queries) {
        let y = &mut y[t * dim..][..dim];
        *log = normalise(o, head, first + t, state.greatest[t], state.sum[t], y);
    }
    results.write(simd, o, head, first, &y[..queries * dim], &logs[..queries]);
}

/// The softmax of each query so far.
struct State {
    greatest: [f32; QUERIES],
    sum: [f32; QUERIES],
    /// The factor that the last block gave to the weights before it.
    decay: [f32; QUERIES],
}

/// Replaces scores by weights `exp(score - greatest)`, times the factors of dropout.
struct WeighBlock<'a> {
    rows: usize,
    columns: usize,
    /// Empty without dropout.
    factors: &'a [f32],
    scores: &'a mut [f32],
    state: &'a mut State,
}

impl<L: Floats> LaneKernel<L> for WeighBlock<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { rows, columns, factors, scores, state } = self;
        let scores = &mut scores[..rows * QUERIES];
        let scale = l.splat(1.0 / EXP_SCALE);
        for lane in (0..columns).step_by(L::N) {
            let before = l.load(&state.greatest[lane..]);
            let mut acc = [before; UNROLL];
            for rows in scores.chunks_exact(UNROLL * QUERIES) {
                for (u, acc) in acc.iter_mut().enumerate() {
                    *acc = l.max(l.load(&rows[u * QUERIES + lane..]), *acc); // NaN loses
                }
            }
            let greatest = l.max(l.max(acc[0], acc[1]), l.max(acc[2], acc[3]));
            // Without a score above -inf, all weights are 0 for any finite number in its place.
            let m = l.select_gt(l.splat(f32::MIN), greatest, l.splat(0.0), greatest);
            let decay = l.mul(exp_scaled(l, l.sub(before, m)), scale);
            let mut sums = [l.splat(0.0); UNROLL];
            for rows in scores.chunks_exact_mut(UNROLL * QUERIES) {
                for (u, sum) in sums.iter_mut().enumerate() {
                    let row = &mut rows[u * QUERIES + lane..];
                    let weight = l.mul(exp_scaled(l, l.sub(l.load(row), m)), scale);
                    *sum = l.add(*sum, weight);
                    l.store(row, weight);
                }
            }
            let sum = l.add(l.add(sums[0], sums[1]), l.add(sums[2], sums[3]));
            l.store(&mut state.greatest[lane..], greatest);
            let sum = l.mul_add(l.load(&state.sum[lane..]), decay, sum);
            l.store(&mut state.sum[lane..], sum);
            l.store(&mut state.decay[lane..], decay);
        }
        // The sums include all weights, also the weights that dropout drops.
        for (weight, factor) in scores.iter_mut().zip(factors) {
            *weight *= factor;
        }
    }
}
