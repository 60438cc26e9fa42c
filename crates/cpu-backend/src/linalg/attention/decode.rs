//! Results of few queries, as in decoding, where reading keys and values takes all the time.
//!
//! The keys of a head are cut into parts of [`PART`], whatever the number of threads. A task reads
//! the keys and values of a part once, for all queries of the heads that share them. It computes
//! `m = max score`, `l = sum exp(score - m)` and `y = sum exp(score - m) v`, and the parts of each
//! query are then added up.

use backend_api::{BackendError, Buffer, Queue};
use core_types::params::attention::MAX_HEAD_DIM;

use super::{
    blocks::{LINE, Rows, SIDE, cut, elements},
    operands::Operands,
    results::{Results, normalise},
};
use crate::{
    CpuQueue, Simd,
    linalg::{
        dropout::Dropped,
        vmath::{EXP_SCALE, exp_scaled},
    },
    panels::load,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// The most queries that take this path.
pub(super) const FEW_QUERIES: u64 = 4;
/// Keys of a part.
const PART: usize = 512;
/// Keys that stay in the L1 cache while all queries read them.
const KEYS_AT_ONCE: usize = 64;
/// Distance in elements between a row and the row that is prefetched with it: 3.5 KiB.
///
/// Hardware prefetchers stop at the end of a page. On a Zen 4 distances of 512 to 1024 are equally
/// fast, and longer ones slower.
const AHEAD: usize = 896;
/// Heads whose parts are added up by one job.
const HEADS_OF_A_JOB: usize = 16;

/// How the work is cut into tasks: for each head of keys, its parts one after the other.
#[derive(Clone, Copy)]
struct Parts {
    kv_heads: usize,
    /// Parts of a head.
    of_head: usize,
    /// Queries of a head.
    queries: usize,
    /// Queries of all heads that share keys.
    rows: usize,
    /// Elements of a partial result: y, m and l.
    width: usize,
}

impl Parts {
    fn of(o: &Operands<'_>) -> Self {
        let [kv_heads, keys, queries] = [o.p.kv_heads, o.p.keys, o.p.queries].map(|len| len as usize);
        Self { kv_heads, of_head: keys.div_ceil(PART), queries, rows: o.group() * queries, width: o.dim() + 2 }
    }

    /// Elements of the partial results of a task.
    fn task_len(&self) -> usize {
        self.rows * self.width
    }

    /// The partial result of a query in a part.
    fn partial<'a>(&self, all: &'a [f32], [batch, kv_head]: [usize; 2], row: usize, part: usize) -> &'a [f32] {
        let task = (batch * self.kv_heads + kv_head) * self.of_head + part;
        &all[task * self.task_len() + row * self.width..][..self.width]
    }

    /// Elements of a row of queries, which ends with zeros.
    fn q_width(&self, dim: usize) -> usize {
        dim.next_multiple_of(SIDE).max(SIDE)
    }

    /// Lengths of the arrays of a task.
    fn lens(&self, o: &Operands<'_>) -> [usize; 4] {
        let factors = if o.dropout().is_some() { PART } else { 0 };
        let wide = if o.widens() { KEYS_AT_ONCE * o.dim() } else { 0 };
        [self.rows * self.q_width(o.dim()), self.rows * PART, factors, wide]
    }
}

/// All queries of an op that has [`FEW_QUERIES`] of them at most.
pub(super) fn run(queue: &CpuQueue, o: &Operands<'_>, results: &Results<'_>) -> Result<(), BackendError> {
    let (parts, simd) = (Parts::of(o), queue.simd());
    let [batch, heads] = [o.p.batch, o.p.heads].map(|len| len as usize);
    let tasks = batch.saturating_mul(parts.kv_heads).saturating_mul(parts.of_head);
    let mut partial = queue.zeros::<f32>(tasks.saturating_mul(parts.task_len()))?;
    let _scratch = queue.reserve_scratch::<f32>(tasks, elements(parts.lens(o)))?;
    queue.for_chunks(partial.view_mut(), parts.task_len(), |task, partial| part(simd, o, parts, task, partial));
    let partial = partial.view();
    queue.for_indices(batch * heads, HEADS_OF_A_JOB, |i| {
        add_parts(simd, o, parts, partial, [i / heads, i % heads], results);
    });
    Ok(())
}

/// One task: a part of the keys of a head.
fn part(simd: Simd, o: &Operands<'_>, parts: Parts, task: usize, partial: &mut [f32]) {
    let (dim, first) = (o.dim(), task % parts.of_head * PART);
    let kv_head = [task / parts.of_head / parts.kv_heads, task / parts.of_head % parts.kv_heads];
    let q_width = parts.q_width(dim);
    let mut memory = vec![0.0; elements(parts.lens(o))];
    let [q, scores, factors, wide] = cut(&mut memory, parts.lens(o));
    // The head and number of the query of a row, and how many keys of the part it reads.
    let query = |row: usize| ([kv_head[0], kv_head[1] * o.group() + row / parts.queries], row % parts.queries);
    let limit = |query: usize| o.limit(kv_head[0], query).saturating_sub(first).min(PART);
    let most = (0..parts.queries).map(limit).max().unwrap_or(0);
    for (row, q) in q.chunks_exact_mut(q_width).enumerate() {
        let (head, query) = query(row);
        q[..dim].copy_from_slice(o.queries_of(head).block(simd, query, 1, wide).row(0, dim));
    }
    // Scores, from keys that are read once.
    for at in (0..most).step_by(KEYS_AT_ONCE) {
        let count = KEYS_AT_ONCE.min(most - at);
        let k = o.keys_of(kv_head).block(simd, first + at, count, wide);
        dispatch(simd, DotRows { scale: o.p.scale, dim, q, q_width, k, count, at, scores: &mut *scores });
    }
    // Weights of each query.
    for (row, (scores, partial)) in scores.chunks_exact_mut(PART).zip(partial.chunks_exact_mut(parts.width)).enumerate()
    {
        let (head, query) = query(row);
        let limit = limit(query);
        let scores = &mut scores[..most.next_multiple_of(SIDE)];
        scores[limit..].fill(f32::NEG_INFINITY);
        if o.has_mask() {
            let mut addends = [0.0; PART];
            o.addends(head, query, first, &mut addends[..limit]);
            for (score, addend) in scores.iter_mut().zip(&addends[..limit]) {
                *score = if *addend == f32::NEG_INFINITY { f32::NEG_INFINITY } else { *score + addend };
            }
        }
        if let Some(p) = o.dropout() {
            let first = o.weight_index(head, query, first);
            dispatch(simd, Dropped { p, first, x: &[1.0; PART][..limit], y: &mut factors[..limit] });
        }
        [partial[dim], partial[dim + 1]] = dispatch(simd, WeighRow { factors, scores });
    }
    // Sums of values, which are read once.
    for at in (0..most).step_by(KEYS_AT_ONCE) {
        let count = KEYS_AT_ONCE.min(most - at);
        let v = o.values_of(kv_head).block(simd, first + at, count, wide);
        dispatch(simd, AddValues { dim, weights: scores, at, count, v, partial: &mut *partial });
    }
}

/// Adds up the parts of the queries of a head.
fn add_parts(simd: Simd, o: &Operands<'_>, parts: Parts, partial: &[f32], head: [usize; 2], results: &Results<'_>) {
    let (dim, kv_head) = (o.dim(), o.kv_head(head));
    for query in 0..parts.queries {
        let row = head[1] % o.group() * parts.queries + query;
        let mut greatest = f32::NEG_INFINITY;
        for part in 0..parts.of_head {
            greatest = greatest.max(parts.partial(partial, kv_head, row, part)[dim]);
        }
        let (mut sums, mut sum) = ([0.0; MAX_HEAD_DIM as usize], 0.0);
        for part in 0..parts.of_head {
            let (y, state) = parts.partial(partial, kv_head, row, part).split_at(dim);
            // A part without keys adds nothing, whatever its values are.
            if state[1] != 0.0 {
                let factor = (state[0] - greatest).exp();
                sum += factor * state[1];
                sums.iter_mut().zip(y).for_each(|(sum, y)| *sum += factor * y);
            }
        }
        let y = &mut sums[..dim];
        let log = normalise(o, head, query, greatest, sum, y);
        results.write(simd, o, head, query, y, &[log]);
    }
}

/// Products of all queries and some keys, times the scale.
///
/// Each is a sum over the lanes of a vector; scores of up to [`SIDE`] keys are written together.
struct DotRows<'a> {
    scale: f32,
    dim: usize,
    q: &'a [f32],
    q_width: usize,
    k: Rows<'a>,
    count: usize,
    /// The place of the first key in the rows of scores.
    at: usize,
    scores: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for DotRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { scale, dim, q, q_width, k, count, at, scores } = self;
        let (scale, ahead) = (l.splat(scale), rows_ahead(dim));
        let (mut products, mut turned) = ([[0.0; SIDE]; SIDE], [[0.0; SIDE]; SIDE]);
        for first in (0..count).step_by(SIDE) {
            for (row, (q, scores)) in q.chunks_exact(q_width).zip(scores.chunks_exact_mut(PART)).enumerate() {
                let of_keys = &mut products[..SIDE.min(count - first)];
                // Other queries find the keys in the cache.
                let ahead = (row == 0).then_some(ahead);
                let mut j = 0;
                while j < dim {
                    let q = &q[j..dim];
                    j += match q.len() / L::N {
                        8.. if const { L::REGISTERS >= 16 } => {
                            dot_columns::<L, 8, false>(l, q, k, first, ahead, j, of_keys)
                        }
                        4.. => dot_columns::<L, 4, false>(l, q, k, first, ahead, j, of_keys),
                        2.. => dot_columns::<L, 2, false>(l, q, k, first, ahead, j, of_keys),
                        1 => dot_columns::<L, 1, false>(l, q, k, first, ahead, j, of_keys),
                        _ => dot_columns::<L, 1, true>(l, q, k, first, ahead, j, of_keys),
                    };
                }
                // Row i of the transpose has lane i of all keys.
                l.transpose(&products, &mut turned);
                for key in (0..SIDE).step_by(L::N) {
                    let mut sums = [l.splat(0.0); 4];
                    for lanes in turned[..L::N].chunks_exact(4) {
                        for (sum, lane) in sums.iter_mut().zip(lanes) {
                            *sum = l.add(*sum, l.load(&lane[key..]));
                        }
                    }
                    let sum = l.add(l.add(sums[0], sums[1]), l.add(sums[2], sums[3]));
                    l.store(&mut scores[at + first + key..], l.mul(scale, sum));
                }
            }
        }
    }
}

/// [`AHEAD`] in rows.
#[inline(always)]
fn rows_ahead(dim: usize) -> usize {
    AHEAD.div_ceil(dim.max(1))
}

/// Adds products of `q` and of columns of the keys from `first` to a vector for each key.
///
/// These are the columns of `V` vectors from `j`, or all that are left if they are only a `SHORT`
/// one; `q` starts at `j` too. Sums start at column 0. Prefetches the row `ahead` of each row, if
/// given. Returns the number of columns.
#[inline(always)]
fn dot_columns<L: Floats, const V: usize, const SHORT: bool>(
    l: L,
    q: &[f32],
    k: Rows<'_>,
    first: usize,
    ahead: Option<usize>,
    j: usize,
    products: &mut [[f32; SIDE]],
) -> usize {
    let width = if SHORT { q.len() } else { V * L::N };
    let (mut factors, mut terms) = ([l.splat(0.0); V], [l.splat(0.0); V]);
    load::<L, V, SHORT>(l, &q[..width], &mut factors);
    for (key, products) in (first..).zip(products) {
        if let Some(ahead) = ahead {
            prefetch_columns::<L, V>(l, k, key + ahead, j);
        }
        load::<L, V, SHORT>(l, &k.row(key, j + width)[j..], &mut terms);
        let mut sum = if j == 0 { l.splat(0.0) } else { l.load(products) };
        for (&factor, &term) in factors.iter().zip(&terms) {
            sum = l.mul_add(factor, term, sum);
        }
        l.store(products, sum);
    }
    width
}

/// Prefetches the columns of `V` vectors from `j` of row `i`, or where it would be.
#[inline(always)]
fn prefetch_columns<L: Floats, const V: usize>(l: L, rows: Rows<'_>, i: usize, j: usize) {
    let at = i.wrapping_mul(rows.stride).wrapping_add(j);
    for column in (0..V * L::N).step_by(LINE) {
        l.prefetch_l2(rows.x, at.wrapping_add(column));
    }
}

/// Replaces the scores of a query by weights times the factors of dropout.
///
/// Returns the greatest score, and the sum of the weights without the factors.
struct WeighRow<'a> {
    /// Empty without dropout.
    factors: &'a [f32],
    scores: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for WeighRow<'_> {
    type Out = [f32; 2];

    #[inline(always)]
    fn run(self, l: L) -> [f32; 2] {
        let Self { factors, scores } = self;
        let mut acc = l.splat(f32::NEG_INFINITY);
        for scores in scores.chunks_exact(L::N) {
            acc = l.max(l.load(scores), acc); // NaN loses
        }
        let greatest = l.greatest(acc);
        // Without a score above -inf, all weights are 0 for any finite number in its place.
        let m = l.splat(if greatest == f32::NEG_INFINITY { 0.0 } else { greatest });
        let (mut sum, scale) = (l.splat(0.0), l.splat(1.0 / EXP_SCALE));
        for scores in scores.chunks_exact_mut(L::N) {
            let weight = l.mul(exp_scaled(l, l.sub(l.load(scores), m)), scale);
            sum = l.add(sum, weight);
            l.store(scores, weight);
        }
        for (weight, factor) in scores.iter_mut().zip(factors) {
            *weight *= factor;
        }
        [greatest, l.sum(sum)]
    }
}

/// Adds values times their weights to the partial results of all queries.
struct AddValues<'a> {
    dim: usize,
    weights: &'a [f32],
    /// The place of the first value in the rows of weights.
    at: usize,
    count: usize,
    v: Rows<'a>,
    partial: &'a mut [f32],
}

impl<L: Floats> LaneKernel<L> for AddValues<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { dim, weights, at, count, v, partial } = self;
        for (row, (weights, partial)) in weights.chunks_exact(PART).zip(partial.chunks_exact_mut(dim + 2)).enumerate() {
            // Other queries find the values in the cache.
            let ahead = (row == 0).then(|| rows_ahead(dim));
            let (weights, y) = (&weights[at..][..count], &mut partial[..dim]);
            let mut j = 0;
            while j < dim {
                j += match (dim - j) / L::N {
                    8.. if const { L::REGISTERS >= 16 } => add_columns::<L, 8, false>(l, weights, v, ahead, j, y),
                    4.. => add_columns::<L, 4, false>(l, weights, v, ahead, j, y),
                    2.. => add_columns::<L, 2, false>(l, weights, v, ahead, j, y),
                    1 => add_columns::<L, 1, false>(l, weights, v, ahead, j, y),
                    _ => add_columns::<L, 1, true>(l, weights, v, ahead, j, y),
                };
            }
        }
    }
}

/// The columns of `V` vectors from `j`, or all that are left if they are only a `SHORT` one.
///
/// Prefetches the row `ahead` of each row, if given. Returns the number of columns.
#[inline(always)]
fn add_columns<L: Floats, const V: usize, const SHORT: bool>(
    l: L,
    weights: &[f32],
    v: Rows<'_>,
    ahead: Option<usize>,
    j: usize,
    y: &mut [f32],
) -> usize {
    let width = if SHORT { y.len() - j } else { V * L::N };
    let y = &mut y[j..][..width];
    let (mut sums, mut terms) = ([l.splat(0.0); V], [l.splat(0.0); V]);
    load::<L, V, SHORT>(l, y, &mut sums);
    for (s, &weight) in weights.iter().enumerate() {
        if let Some(ahead) = ahead {
            prefetch_columns::<L, V>(l, v, s + ahead, j);
        }
        load::<L, V, SHORT>(l, &v.row(s, j + width)[j..], &mut terms);
        let weight = l.splat(weight);
        for (sum, &term) in sums.iter_mut().zip(&terms) {
            *sum = l.mul_add(weight, term, *sum);
        }
    }
    for (i, sum) in sums.into_iter().enumerate() {
        let y = &mut y[i * L::N..];
        if SHORT {
            l.store_partial(y, sum);
        } else {
            l.store(y, sum);
        }
    }
    width
}
