//! Gradients, from weights that are computed again.
//!
//! With `w_ts = exp(score_ts - lse_t)`, `d_ts` the factors of dropout and `delta_t = g_t . y_t`:
//! `h_ts = w_ts (d_ts (g_t . v_s) - delta_t)`, `dq_t = scale sum_s h_ts k_s`,
//! `dk_s = scale sum_t h_ts q_t` and `dv_s = sum_t d_ts w_ts g_t` (Dao et al., FlashAttention,
//! arXiv 2205.14135, section 3.1 and appendix B.4).
//!
//! One pass takes blocks of queries and makes dq; another takes blocks of keys and makes dk and
//! dv, over the heads that share them and their blocks of queries in order.

use super::{
    blocks::{HeadRows, KEYS, QUERIES, Rows, ScaleRows, TransposeRows, cut, elements},
    operands::Operands,
    products::TransposedProduct,
    repair::{self, Gradients},
    results::{HeadResults, is_finite},
    scores::Block,
};
use crate::{
    Simd,
    linalg::vmath::{EXP_SCALE, exp_scaled},
    panels::{PanelProduct, Start},
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Lengths of the arrays of a task that makes dq.
fn query_lens(o: &Operands<'_>) -> [usize; 8] {
    let (dim, scores) = (o.dim(), KEYS * QUERIES);
    let factors = if o.dropout().is_some() { scores } else { 0 };
    let wide = if o.widens() { KEYS * dim } else { 0 };
    [dim * QUERIES, dim * QUERIES, scores, scores, factors, QUERIES * dim, wide, wide]
}

/// Lengths of the arrays of a task that makes dk and dv.
fn key_lens(o: &Operands<'_>) -> [usize; 11] {
    let (dim, scores) = (o.dim(), KEYS * QUERIES);
    let factors = if o.dropout().is_some() { scores } else { 0 };
    let [keys, queries] = if o.widens() { [KEYS, QUERIES].map(|rows| rows * dim) } else { [0; 2] };
    let sums = KEYS * dim;
    [dim * QUERIES, dim * QUERIES, scores, scores, factors, sums, sums, keys, keys, queries, queries]
}

/// Elements of scratch of a task that makes dq.
pub(super) fn query_scratch(o: &Operands<'_>) -> usize {
    elements(query_lens(o))
}

/// Elements of scratch of a task that makes dk and dv.
pub(super) fn key_scratch(o: &Operands<'_>) -> usize {
    elements(key_lens(o))
}

/// Elements of scratch of [`deltas`].
pub(super) fn delta_scratch(o: &Operands<'_>) -> usize {
    if o.widens() { 2 * QUERIES * o.dim() } else { 0 }
}

/// The sums `g_t . y_t` of a head.
pub(super) fn deltas(simd: Simd, o: &Operands<'_>, y: HeadRows<'_>, g: HeadRows<'_>, to: &mut [f32]) {
    let mut memory = vec![0.0; delta_scratch(o)];
    let (wide_y, wide_g) = memory.split_at_mut(delta_scratch(o) / 2);
    for (i, to) in to.chunks_mut(QUERIES).enumerate() {
        let (first, count) = (i * QUERIES, to.len());
        let (y, g) = (y.block(simd, first, count, wide_y), g.block(simd, first, count, wide_g));
        dispatch(simd, DotPairs { dim: o.dim(), a: y, b: g, to });
    }
}

/// One task of the first pass: dq of a block of queries from `first`.
pub(super) fn queries(simd: Simd, b: &Gradients<'_>, head: [usize; 2], first: usize, dq: &HeadResults<'_>) {
    let o = &b.o;
    let (dim, queries) = (o.dim(), QUERIES.min(o.p.queries as usize - first));
    let mut memory = vec![0.0; query_scratch(o)];
    let [q, g, scores, products, factors, sums, wide_k, wide_v] = cut(&mut memory, query_lens(o));
    let rows = o.queries_of(head).block(simd, first, queries, wide_k);
    dispatch(simd, TransposeRows { rows, count: queries, dim, factor: o.p.scale, to: &mut *q });
    let rows = b.gradients_of(head).block(simd, first, queries, wide_k);
    dispatch(simd, TransposeRows { rows, count: queries, dim, factor: 1.0, to: &mut *g });
    let (limits, most) = o.limits(head[0], first, queries);
    let (keys, values) = (o.keys_of(o.kv_head(head)), o.values_of(o.kv_head(head)));
    for key in (0..most).step_by(KEYS) {
        let block = Block { head, query: first, queries, key, keys: KEYS.min(most - key) };
        let rows = [keys.block(simd, key, block.keys, wide_k), values.block(simd, key, block.keys, wide_v)];
        gradients(simd, b, &block, &limits, [&*q, &*g], rows, [&mut *scores, &mut *products, &mut *factors]);
        dispatch(
            simd,
            TransposedProduct {
                rows: queries,
                k: block.keys,
                n: dim,
                a: products,
                a_row: QUERIES,
                b: rows[0].x,
                b_row: rows[0].stride,
                c: &mut *sums,
                c_row: dim,
            },
        );
    }
    dispatch(simd, ScaleRows { dim, factors: &[o.p.scale; QUERIES], x: &mut *sums });
    for t in 0..queries {
        let row = &mut sums[t * dim..][..dim];
        if !is_finite(row) && !b.lse[o.query_index(head, first + t)].is_nan() {
            repair::query_gradient(b, head, first + t, row);
        }
    }
    dq.write(simd, head, first, &sums[..queries * dim]);
}

/// One task of the second pass: dk and dv of a block of keys from `first`.
pub(super) fn keys(
    simd: Simd,
    b: &Gradients<'_>,
    kv_head: [usize; 2],
    first: usize,
    [to_dk, to_dv]: [&HeadResults<'_>; 2],
) {
    let o = &b.o;
    let (dim, all) = (o.dim(), KEYS.min(o.p.keys as usize - first));
    let mut memory = vec![0.0; key_scratch(o)];
    let [q, g, scores, products, factors, dk, dv, wide_k, wide_v, wide_q, wide_g] = cut(&mut memory, key_lens(o));
    let rows =
        [o.keys_of(kv_head).block(simd, first, all, wide_k), o.values_of(kv_head).block(simd, first, all, wide_v)];
    for head in kv_head[1] * o.group()..(kv_head[1] + 1) * o.group() {
        let head = [kv_head[0], head];
        for query in (0..o.p.queries as usize).step_by(QUERIES) {
            let queries = QUERIES.min(o.p.queries as usize - query);
            let (limits, most) = o.limits(head[0], query, queries);
            if most <= first {
                continue;
            }
            let block = Block { head, query, queries, key: first, keys: all.min(most - first) };
            let q_rows = o.queries_of(head).block(simd, query, queries, wide_q);
            let g_rows = b.gradients_of(head).block(simd, query, queries, wide_g);
            dispatch(simd, TransposeRows { rows: q_rows, count: queries, dim, factor: o.p.scale, to: &mut *q });
            dispatch(simd, TransposeRows { rows: g_rows, count: queries, dim, factor: 1.0, to: &mut *g });
            gradients(simd, b, &block, &limits, [&*q, &*g], rows, [&mut *scores, &mut *products, &mut *factors]);
            add_product(simd, &block, products, q_rows, dim, dk);
            add_product(simd, &block, scores, g_rows, dim, dv);
        }
    }
    dispatch(simd, ScaleRows { dim, factors: &[o.p.scale; KEYS], x: &mut *dk });
    for s in 0..all {
        let [dk, dv] = [&mut dk[s * dim..][..dim], &mut dv[s * dim..][..dim]];
        if !(is_finite(dk) && is_finite(dv)) {
            repair::key_gradients(b, kv_head, first + s, [dk, dv]);
        }
    }
    to_dk.write(simd, kv_head, first, &dk[..all * dim]);
    to_dv.write(simd, kv_head, first, &dv[..all * dim]);
}

/// Weights times factors of dropout in place of `scores`, and `h` in place of `products`.
///
/// `q` and `g` are columns of the queries times the scale, and of the gradients.
fn gradients(
    simd: Simd,
    b: &Gradients<'_>,
    block: &Block,
    limits: &[usize; QUERIES],
    [q, g]: [&[f32]; 2],
    [k, v]: [Rows<'_>; 2],
    [scores, products, factors]: [&mut [f32]; 3],
) {
    block.scores(simd, &b.o, limits, q, k, scores);
    block.products(simd, b.o.dim(), g, v, products);
    let factors = block.factors(simd, &b.o, factors);
    let at = b.o.query_index(block.head, block.query);
    let (mut lse, mut delta) = ([f32::INFINITY; QUERIES], [0.0; QUERIES]);
    delta[..block.queries].copy_from_slice(&b.delta[at..][..block.queries]);
    // A query without keys has weights of exp(-inf - inf) = 0.
    for (to, &lse) in lse.iter_mut().zip(&b.lse[at..][..block.queries]) {
        *to = if lse == f32::NEG_INFINITY { f32::INFINITY } else { lse };
    }
    let (rows, columns) = (block.keys, block.columns());
    dispatch(simd, GradientBlock { rows, columns, lse: &lse, delta: &delta, factors, scores, products });
}

/// `to += weights rows`, with a row of weights for each key and a column for each query.
fn add_product(simd: Simd, block: &Block, weights: &[f32], rows: Rows<'_>, dim: usize, to: &mut [f32]) {
    dispatch(
        simd,
        PanelProduct {
            rows: block.keys,
            k: block.queries,
            n: dim,
            a: weights,
            a_row: QUERIES,
            b: rows.x,
            b_row: rows.stride,
            start: Start::Last,
            c: to,
            c_row: dim,
        },
    );
}

/// The sums of the products of rows.
struct DotPairs<'a> {
    dim: usize,
    a: Rows<'a>,
    b: Rows<'a>,
    to: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for DotPairs<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        for (i, to) in self.to.iter_mut().enumerate() {
            let mut sum = l.splat(0.0);
            let (mut a, mut b) =
                (self.a.row(i, self.dim).chunks_exact(L::N), self.b.row(i, self.dim).chunks_exact(L::N));
            for (a, b) in (&mut a).zip(&mut b) {
                sum = l.mul_add(l.load(a), l.load(b), sum);
            }
            let (a, b) = (l.load_partial(a.remainder(), 0.0), l.load_partial(b.remainder(), 0.0));
            *to = l.sum(l.mul_add(a, b, sum));
        }
    }
}

struct GradientBlock<'a> {
    rows: usize,
    columns: usize,
    lse: &'a [f32; QUERIES],
    delta: &'a [f32; QUERIES],
    /// Empty without dropout.
    factors: &'a [f32],
    /// Scores become weights times factors.
    scores: &'a mut [f32],
    /// Products of gradients and values become h.
    products: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for GradientBlock<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { rows, columns, lse, delta, factors, scores, products } = self;
        let (zero, scale) = (l.splat(0.0), l.splat(1.0 / EXP_SCALE));
        let least = l.splat(f32::from_bits(1));
        for lane in (0..columns).step_by(L::N) {
            let (lse, delta) = (l.load(&lse[lane..]), l.load(&delta[lane..]));
            for row in 0..rows {
                let at = row * QUERIES + lane;
                let weight = l.mul(exp_scaled(l, l.sub(l.load(&scores[at..]), lse)), scale);
                let (mut kept, mut product) = (weight, l.load(&products[at..]));
                if !factors.is_empty() {
                    let factor = l.load(&factors[at..]);
                    (kept, product) = (l.mul(weight, factor), l.mul(product, factor));
                }
                // Products with keys that a query does not read may be NaN.
                let h = l.select_gt(least, weight, zero, l.mul(weight, l.sub(product, delta)));
                l.store(&mut scores[at..], kept);
                l.store(&mut products[at..], h);
            }
        }
    }
}
