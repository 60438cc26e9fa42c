//! Attention at every vector level and number of threads, against a plain f64 model.

use backend_api::{
    Real,
    ops::linalg::{Attention, AttentionBackward, AttentionOps, Dropout, ElementwiseOps},
};
use core_types::params::{
    attention::{AttentionParams, HeadStrides},
    elementwise::DropoutParams,
    optim::StepState,
};
use cpu_backend::CpuQueue;
use half::{bf16, f16};

use crate::levels::{levels, queue, queues, strongest};

/// The order of rows and heads in memory.
#[derive(Clone, Copy, Debug)]
enum HeadLayout {
    ByRow,
    ByHead,
    /// Heads one after the other, with gaps between rows, heads and batches.
    Gaps,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum MaskKind {
    None,
    Keep,
    Add,
}

#[derive(Clone, Copy, Debug)]
struct AttentionCase {
    /// Batches, heads, heads of keys, queries, keys, elements of a row.
    shape: [usize; 6],
    causal: Option<i64>,
    mask: MaskKind,
    /// Whether batches have their own numbers of keys.
    has_lens: bool,
    drops: bool,
    layout: HeadLayout,
    scale: f32,
}

/// A head of keys without masks.
const PLAIN: AttentionCase = AttentionCase {
    shape: [1, 1, 1, 1, 1, 1],
    causal: None,
    mask: MaskKind::None,
    has_lens: false,
    drops: false,
    layout: HeadLayout::ByHead,
    scale: 0.3,
};

/// Sizes around blocks of queries and keys, and the lengths of vectors.
const CASES: [AttentionCase; 22] = [
    PLAIN,
    AttentionCase { shape: [1, 2, 1, 3, 63, 8], layout: HeadLayout::ByRow, ..PLAIN },
    AttentionCase { shape: [2, 2, 2, 4, 600, 64], has_lens: true, ..PLAIN },
    AttentionCase { shape: [2, 4, 2, 1, 513, 33], mask: MaskKind::Add, drops: true, layout: HeadLayout::Gaps, ..PLAIN },
    AttentionCase { shape: [2, 2, 2, 2, 1030, 80], mask: MaskKind::Keep, causal: Some(1028), ..PLAIN },
    AttentionCase { shape: [1, 1, 1, 4, 16, 128], causal: Some(-2), layout: HeadLayout::ByRow, ..PLAIN },
    AttentionCase { shape: [2, 1, 1, 5, 64, 1], drops: true, layout: HeadLayout::Gaps, ..PLAIN },
    AttentionCase { shape: [1, 1, 1, 16, 65, 3], causal: Some(0), scale: 9.0, ..PLAIN },
    AttentionCase { shape: [1, 3, 1, 47, 127, 16], mask: MaskKind::Add, layout: HeadLayout::Gaps, ..PLAIN },
    AttentionCase { shape: [2, 2, 1, 48, 128, 33], mask: MaskKind::Keep, has_lens: true, ..PLAIN },
    AttentionCase { shape: [1, 4, 2, 49, 129, 8], causal: Some(80), layout: HeadLayout::ByRow, ..PLAIN },
    AttentionCase { shape: [1, 2, 2, 65, 255, 64], causal: Some(190), drops: true, ..PLAIN },
    AttentionCase { shape: [1, 1, 1, 97, 256, 80], scale: 2.0, ..PLAIN },
    AttentionCase { shape: [1, 1, 1, 130, 257, 128], causal: Some(0), layout: HeadLayout::Gaps, ..PLAIN },
    AttentionCase { shape: [3, 1, 1, 33, 300, 40], has_lens: true, drops: true, mask: MaskKind::Add, ..PLAIN },
    AttentionCase { shape: [1, 2, 1, 64, 17, 0], mask: MaskKind::Add, drops: true, ..PLAIN },
    AttentionCase { shape: [1, 2, 1, 2, 17, 0], ..PLAIN },
    AttentionCase { shape: [2, 2, 1, 7, 0, 5], ..PLAIN },
    AttentionCase { shape: [2, 2, 1, 1, 0, 5], ..PLAIN },
    AttentionCase { shape: [2, 2, 1, 0, 9, 5], ..PLAIN },
    AttentionCase { shape: [0, 2, 1, 7, 9, 5], ..PLAIN },
    AttentionCase { shape: [2, 0, 0, 7, 9, 5], ..PLAIN },
];

fn strides(layout: HeadLayout, [heads, rows, dim]: [usize; 3]) -> HeadStrides {
    let [heads, rows, dim] = [heads, rows, dim].map(|len| len as u64);
    match layout {
        HeadLayout::ByRow => HeadStrides::by_row(rows, heads, dim),
        HeadLayout::ByHead => HeadStrides::by_head(heads, rows, dim),
        HeadLayout::Gaps => {
            let row = dim + 3;
            let head = rows * row + 1;
            HeadStrides { batch: heads * head + 2, head, row }
        }
    }
}

/// The places of all elements, in the order of `[batch, heads, rows, dim]`.
fn places(strides: HeadStrides, [batch, heads, rows, dim]: [usize; 4]) -> Vec<usize> {
    let mut places = Vec::with_capacity(batch * heads * rows * dim);
    for b in 0..batch as u64 {
        for h in 0..heads as u64 {
            for t in 0..rows as u64 {
                let start = strides.start(b, h, t) as usize;
                places.extend(start..start + dim);
            }
        }
    }
    places
}

fn room(strides: HeadStrides, shape: [usize; 4]) -> usize {
    strides.span(shape.map(|len| len as u64)).unwrap() as usize
}

/// A case with its operands.
struct Problem<T> {
    case: AttentionCase,
    p: AttentionParams,
    q: Vec<T>,
    k: Vec<T>,
    v: Vec<T>,
    g: Vec<T>,
    lens: Option<Vec<u32>>,
    keep: Option<Vec<bool>>,
    addend: Option<Vec<f32>>,
    state: [StepState; 1],
}

impl<T: Real> Problem<T> {
    fn new(case: AttentionCase) -> Self {
        let [batch, heads, kv_heads, queries, keys, dim] = case.shape;
        let [of_queries, of_keys] =
            [strides(case.layout, [heads, queries, dim]), strides(case.layout, [kv_heads, keys, dim])];
        let mut rng = fastrand::Rng::with_seed(7);
        // NaN between elements.
        let mut tensor = |strides, shape| {
            let mut x = vec![T::from_f32(f32::NAN); room(strides, shape)];
            for at in places(strides, shape) {
                x[at] = T::from_f32(2.0 * rng.f32() - 1.0);
            }
            x
        };
        let [q, g] = [(); 2].map(|()| tensor(of_queries, [batch, heads, queries, dim]));
        let [k, v] = [(); 2].map(|()| tensor(of_keys, [batch, kv_heads, keys, dim]));
        // All heads share a mask. Every seventh query reads no key, and every fifth not the first ones.
        let mask = HeadStrides { batch: (queries * keys) as u64, head: 0, row: keys as u64 };
        let size = room(mask, [batch, heads, queries, keys]);
        let kept: Vec<bool> = (0..size)
            .map(|i| {
                let (query, key) = (i / keys % queries, i % keys);
                query % 7 != 3 && (query % 5 != 4 || key >= 140) && rng.f32() < 0.7
            })
            .collect();
        let addend = kept.iter().map(|&kept| if kept { 4.0 * rng.f32() - 2.0 } else { f32::NEG_INFINITY }).collect();
        let lens = [keys / 2 + 1, keys + 5, 0].map(|len| len as u32);
        let state = StepState { step: 5, skipped: u64::MAX, ..StepState::new(1.0) };
        let dropout = DropoutParams {
            seed: 99,
            site: 3,
            step: u32::MAX,
            first: if case.drops { 1_000_003 } else { 0 },
            threshold: if case.drops { 1 << 30 } else { 0 },
            scale: if case.drops { 4.0 / 3.0 } else { 1.0 },
        };
        let p = AttentionParams {
            batch: batch as u64,
            heads: heads as u64,
            kv_heads: kv_heads as u64,
            queries: queries as u64,
            keys: keys as u64,
            dim: dim as u64,
            q: of_queries,
            k: of_keys,
            v: of_keys,
            y: of_queries,
            mask,
            causal_offset: case.causal.unwrap_or(0),
            causal: u32::from(case.causal.is_some()),
            scale: case.scale,
            dropout,
        };
        Self {
            case,
            p,
            q,
            k,
            v,
            g,
            lens: case.has_lens.then(|| lens[..batch].to_vec()),
            keep: (case.mask == MaskKind::Keep).then_some(kept),
            addend: (case.mask == MaskKind::Add).then_some(addend),
            state: [state],
        }
    }

    /// Results and logarithms; elements between rows are 7 before.
    fn forward(&self, queue: &CpuQueue) -> (Vec<T>, Vec<f32>) {
        let [batch, heads, _, queries, _, dim] = self.case.shape;
        let mut y = vec![T::from_f32(7.0); room(self.p.y, [batch, heads, queries, dim])];
        let mut lse = vec![7.0; batch * heads * queries];
        let op = Attention::<CpuQueue, T> {
            params: &self.p,
            q: &self.q[..],
            k: &self.k[..],
            v: &self.v[..],
            key_lens: self.lens.as_deref(),
            keep: self.keep.as_deref(),
            addend: self.addend.as_deref(),
            state: self.case.drops.then_some(&self.state[..]),
            y: &mut y[..],
            lse: Some(&mut lse[..]),
        };
        queue.attention(op).unwrap();
        (y, lse)
    }

    /// The gradients of queries, keys and values; elements between rows are 7 before.
    fn backward(&self, queue: &CpuQueue, y: &[T], lse: &[f32]) -> [Vec<T>; 3] {
        let seven = |len: usize| vec![T::from_f32(7.0); len];
        let (mut dq, mut dk, mut dv) = (seven(self.q.len()), seven(self.k.len()), seven(self.v.len()));
        let op = AttentionBackward::<CpuQueue, T> {
            params: &self.p,
            q: &self.q[..],
            k: &self.k[..],
            v: &self.v[..],
            key_lens: self.lens.as_deref(),
            keep: self.keep.as_deref(),
            addend: self.addend.as_deref(),
            state: self.case.drops.then_some(&self.state[..]),
            y,
            lse,
            g: &self.g[..],
            dq: &mut dq[..],
            dk: &mut dk[..],
            dv: &mut dv[..],
        };
        queue.attention_backward(op).unwrap();
        [dq, dk, dv]
    }

    /// The factors of all weights, by the op for dropout.
    fn factors(&self) -> Vec<f32> {
        let [batch, heads, _, queries, keys, _] = self.case.shape;
        let ones = vec![1.0; batch * heads * queries * keys];
        if !self.case.drops {
            return ones;
        }
        let mut factors = vec![0.0; ones.len()];
        let state = Some(&self.state[..]);
        let (len, x) = (ones.len(), Some(&ones[..]));
        let op = Dropout::<CpuQueue, f32> { params: &self.p.dropout, state, len, x, y: &mut factors[..] };
        strongest(1).dropout(op).unwrap();
        factors
    }

    /// The definition, one weight after the other.
    fn model(&self) -> AttentionReference {
        let [batch, heads, kv_heads, queries, keys, dim] = self.case.shape;
        let p = &self.p;
        let mut m = AttentionReference {
            y: vec![0.0; batch * heads * queries * dim],
            lse: vec![f64::NEG_INFINITY; batch * heads * queries],
            dq: vec![0.0; batch * heads * queries * dim],
            dk: vec![0.0; batch * kv_heads * keys * dim],
            dv: vec![0.0; batch * kv_heads * keys * dim],
        };
        let factors = self.factors();
        let row = |x: &[T], strides: &HeadStrides, b: usize, h: usize, t: usize| -> Vec<f64> {
            let start = strides.start(b as u64, h as u64, t as u64) as usize;
            if dim == 0 { Vec::new() } else { x[start..start + dim].iter().map(|x| f64::from(x.to_f32())).collect() }
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let add = |to: &mut [f64], factor: f64, x: &[f64]| to.iter_mut().zip(x).for_each(|(to, x)| *to += factor * x);
        for b in 0..batch {
            for h in 0..heads {
                let kv = h / (heads / kv_heads);
                let k: Vec<_> = (0..keys).map(|s| row(&self.k, &p.k, b, kv, s)).collect();
                let v: Vec<_> = (0..keys).map(|s| row(&self.v, &p.v, b, kv, s)).collect();
                for t in 0..queries {
                    let at = (b * heads + h) * queries + t;
                    let (q, g) = (row(&self.q, &p.q, b, h, t), row(&self.g, &p.y, b, h, t));
                    let mut weights = vec![f64::NEG_INFINITY; keys];
                    for (s, weight) in weights.iter_mut().enumerate() {
                        let place = (b * queries + t) * keys + s;
                        let before_end = self.lens.as_ref().is_none_or(|lens| s < lens[b] as usize);
                        let in_time = self.case.causal.is_none_or(|offset| s as i64 <= t as i64 + offset);
                        let kept = self.keep.as_ref().is_none_or(|keep| keep[place]);
                        let addend = self.addend.as_ref().map_or(0.0, |addend| addend[place]);
                        if before_end && in_time && kept {
                            *weight = f64::from(p.scale) * dot(&q, &k[s]) + f64::from(addend);
                        }
                    }
                    let greatest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    if greatest == f64::NEG_INFINITY {
                        continue;
                    }
                    let sum: f64 = weights.iter().map(|weight| (weight - greatest).exp()).sum();
                    m.lse[at] = greatest + sum.ln();
                    weights.iter_mut().for_each(|weight| *weight = (*weight - greatest).exp() / sum);
                    let factors = &factors[at * keys..][..keys];
                    let y = &mut m.y[at * dim..][..dim];
                    for ((&weight, &factor), v) in weights.iter().zip(factors).zip(&v) {
                        add(y, f64::from(factor) * weight, v);
                    }
                    let delta = dot(&g, y);
                    for (s, (&weight, &factor)) in weights.iter().zip(factors).enumerate() {
                        let (factor, at_key) = (f64::from(factor), ((b * kv_heads + kv) * keys + s) * dim);
                        let h = f64::from(p.scale) * weight * (factor * dot(&g, &v[s]) - delta);
                        add(&mut m.dq[at * dim..][..dim], h, &k[s]);
                        add(&mut m.dk[at_key..][..dim], h, &q);
                        add(&mut m.dv[at_key..][..dim], factor * weight, &g);
                    }
                }
            }
        }
        m
    }

    /// The elements of a result in the order of the model; all others must be 7.
    fn elements(&self, x: &[T], of_keys: bool) -> Vec<f64> {
        let [batch, heads, kv_heads, queries, keys, dim] = self.case.shape;
        let (strides, shape) =
            if of_keys { (self.p.k, [batch, kv_heads, keys, dim]) } else { (self.p.q, [batch, heads, queries, dim]) };
        let mut between = vec![true; x.len()];
        let values = places(strides, shape).into_iter().map(|at| {
            between[at] = false;
            f64::from(x[at].to_f32())
        });
        let values = values.collect();
        for (x, between) in x.iter().zip(between) {
            assert!(!between || x.to_f32() == 7.0, "{:?}: between rows", self.case);
        }
        values
    }
}

/// The output, the log-sum-exp of each row and the gradients, in f64.
struct AttentionReference {
    y: Vec<f64>,
    lse: Vec<f64>,
    dq: Vec<f64>,
    dk: Vec<f64>,
    dv: Vec<f64>,
}

/// Compares a case on all `queues` with its model.
///
/// Results are rounded by `step`; gradients may have an error of `part` of their norm.
fn check<T: Real>(queues: &[CpuQueue], case: AttentionCase, step: f64, part: f64) {
    let problem = Problem::<T>::new(case);
    let m = problem.model();
    for queue in queues {
        let of = format!("{queue:?} {case:?}");
        let (y, lse) = problem.forward(queue);
        for (i, (&lse, &want)) in lse.iter().zip(&m.lse).enumerate() {
            let near = (f64::from(lse) - want).abs() <= 1e-5 + 2e-6 * want.abs();
            assert!(near || f64::from(lse) == want, "{of}: lse {i}: {lse}, not {want}");
        }
        for (i, (&y, &want)) in problem.elements(&y, false).iter().zip(&m.y).enumerate() {
            assert!((y - want).abs() <= step * want.abs() + 1e-5 + 1.5 * step, "{of}: y {i}: {y}, not {want}");
        }
        let [dq, dk, dv] = problem.backward(queue, &y, &lse);
        for (name, got, of_keys, want) in [("dq", dq, false, &m.dq), ("dk", dk, true, &m.dk), ("dv", dv, true, &m.dv)] {
            let got = problem.elements(&got, of_keys);
            let error = got.iter().zip(want).map(|(got, want)| (got - want).powi(2)).sum::<f64>().sqrt();
            let norm = want.iter().map(|want| want.powi(2)).sum::<f64>().sqrt();
            assert!(error <= part * norm + 1e-6, "{of}: {name}: {error} of {norm}");
        }
    }
}

#[test]
fn attention_is_close_to_its_definition() {
    let queues = queues();
    for case in CASES {
        check::<f32>(&queues, case, 1e-6, 2e-5);
    }
}

#[test]
fn attention_of_16_bits_is_close_to_its_definition() {
    let queues: Vec<_> = levels().map(|simd| queue(simd, 3)).collect();
    for case in CASES.into_iter().step_by(3) {
        check::<bf16>(&queues, case, 1.0 / 256.0, 5e-2);
        check::<f16>(&queues, case, 1.0 / 2048.0, 1e-2);
    }
}

/// A head of keys of a problem, with the heads of queries that read it.
fn part(problem: &Problem<f32>, batch: usize, kv_head: usize) -> Problem<f32> {
    let [_, heads, kv_heads, ..] = problem.case.shape;
    let group = heads / kv_heads;
    let mut part = Problem::<f32>::new(problem.case);
    (part.p.batch, part.p.heads, part.p.kv_heads) = (1, group as u64, 1);
    (part.case.shape[0], part.case.shape[1], part.case.shape[2]) = (1, group, 1);
    let of_queries = problem.p.q.start(batch as u64, (kv_head * group) as u64, 0) as usize;
    let of_keys = problem.p.k.start(batch as u64, kv_head as u64, 0) as usize;
    (part.q, part.g) = (problem.q[of_queries..].to_vec(), problem.g[of_queries..].to_vec());
    (part.k, part.v) = (problem.k[of_keys..].to_vec(), problem.v[of_keys..].to_vec());
    part.lens = problem.lens.as_ref().map(|lens| lens[batch..][..1].to_vec());
    let of_mask = problem.p.mask.start(batch as u64, 0, 0) as usize;
    part.keep = problem.keep.as_ref().map(|keep| keep[of_mask..].to_vec());
    part.addend = problem.addend.as_ref().map(|addend| addend[of_mask..].to_vec());
    // The same random words.
    let first = problem.p.weight_index(batch as u64, (kv_head * group) as u64, 0);
    part.p.dropout.first = problem.p.dropout.first + first;
    part
}

#[test]
fn bits_of_a_head_depend_on_no_other_head_and_on_no_thread() {
    let cases = [
        AttentionCase { shape: [3, 4, 2, 70, 300, 33], causal: Some(230), has_lens: true, drops: true, ..PLAIN },
        AttentionCase {
            shape: [2, 4, 2, 2, 1100, 40],
            mask: MaskKind::Keep,
            drops: true,
            layout: HeadLayout::ByRow,
            ..PLAIN
        },
    ];
    for simd in levels() {
        let (one, three) = (queue(simd, 1), queue(simd, 3));
        for case in cases {
            let problem = Problem::<f32>::new(case);
            let (y, lse) = problem.forward(&one);
            let gradients = problem.backward(&one, &y, &lse);
            assert!(problem.forward(&three) == (y.clone(), lse.clone()), "{simd:?} {case:?}: threads");
            assert!(problem.backward(&three, &y, &lse) == gradients, "{simd:?} {case:?}: threads, backward");
            let [batch, heads, kv_heads, queries, _, dim] = case.shape;
            let group = heads / kv_heads;
            for (b, kv) in (0..batch).flat_map(|b| (0..kv_heads).map(move |kv| (b, kv))) {
                let part = part(&problem, b, kv);
                let (part_y, part_lse) = part.forward(&three);
                let at = (b * heads + kv * group) * queries;
                assert!(part_lse == lse[at..][..group * queries], "{simd:?} {case:?}: lse of {b}, {kv}");
                let [dq, dk, dv] = part.backward(&three, &part_y, &part_lse);
                for (x, of_part) in [(&y, &part_y), (&gradients[0], &dq)] {
                    let all = problem.elements(x, false);
                    assert!(part.elements(of_part, false) == all[at * dim..][..group * queries * dim], "{case:?}");
                }
                let at = (b * kv_heads + kv) * case.shape[4] * dim;
                for (x, of_part) in [(&gradients[1], &dk), (&gradients[2], &dv)] {
                    let all = problem.elements(x, true);
                    assert!(part.elements(of_part, true) == all[at..][..case.shape[4] * dim], "{case:?}");
                }
            }
        }
    }
}

/// The bits of a query do not depend on the other queries of its block.
#[test]
fn bits_of_a_query_depend_on_no_other_query() {
    for simd in levels() {
        let q = queue(simd, 1);
        let case = AttentionCase { shape: [1, 1, 1, 100, 300, 20], causal: Some(200), ..PLAIN };
        let problem = Problem::<f32>::new(case);
        let (y, lse) = problem.forward(&q);
        for queries in [5, 48, 60] {
            let mut fewer = Problem::<f32>::new(case);
            fewer.p.queries = queries as u64;
            fewer.case.shape[3] = queries;
            let (fewer_y, fewer_lse) = fewer.forward(&q);
            assert!(fewer_lse == lse[..queries] && fewer_y == y[..queries * 20], "{simd:?}: {queries}");
        }
    }
}

/// Keys that some queries of a block read and others do not hold NaN or infinity.
#[test]
fn what_a_query_does_not_read_does_not_matter() {
    let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    for queue in queues() {
        for queries in [3, 20] {
            for (mask, causal) in [(MaskKind::Keep, None), (MaskKind::Add, None), (MaskKind::None, Some(0))] {
                let case = AttentionCase { shape: [1, 2, 1, queries, 150, 17], mask, causal, ..PLAIN };
                let mut problem = Problem::<f32>::new(case);
                // Even queries read all keys but number 1, odd ones all, or all up to their own.
                let leaves_out = |query: usize, key: usize| match mask {
                    MaskKind::None => key > query,
                    _ => key == 1 && query.is_multiple_of(2),
                };
                let out: Vec<bool> = (0..queries * 150).map(|i| leaves_out(i / 150, i % 150)).collect();
                problem.keep = (mask == MaskKind::Keep).then(|| out.iter().map(|out| !out).collect());
                let addend = |&out: &bool| if out { f32::NEG_INFINITY } else { 0.5 };
                problem.addend = (mask == MaskKind::Add).then(|| out.iter().map(addend).collect());
                let (k, v) = (problem.k.clone(), problem.v.clone());
                let (clean, clean_lse) = problem.forward(&queue);
                let [clean_dq, ..] = problem.backward(&queue, &clean, &clean_lse);
                for x in bad {
                    problem.v[17 + 5] = x;
                    let (y, lse) = problem.forward(&queue);
                    assert_eq!(lse, clean_lse);
                    problem.k[17..34].fill(x);
                    let (after_k, _) = problem.forward(&queue);
                    let [dq, dk, _] = problem.backward(&queue, &after_k, &clean_lse);
                    for (i, (&y, &clean)) in y.iter().zip(&clean).enumerate() {
                        let (query, d) = (i / 17 % queries, i % 17);
                        let of = format!("{queue:?} {case:?} {x} at {i}");
                        let near = |a: f32, b: f32| (a - b).abs() < 1e-5;
                        if leaves_out(query, 1) {
                            assert!(near(y, clean) && near(after_k[i], clean), "{of}: {y}, not {clean}");
                            assert!(near(dq[i], clean_dq[i]), "{of}: dq {}, not {}", dq[i], clean_dq[i]);
                        } else if d == 5 {
                            assert!(if x.is_nan() { y.is_nan() } else { y == x }, "{of}: {y}");
                        } else {
                            assert!(near(y, clean), "{of}: {y}, not {clean}");
                        }
                    }
                    // No query reads key 149 if the mask is causal.
                    assert!(mask != MaskKind::None || dk[149 * 17..].iter().all(|&dk| dk == 0.0), "{queue:?} {case:?}");
                    (problem.k, problem.v) = (k.clone(), v.clone());
                }
            }
        }
    }
}

/// Addends of -1e9 absorb all products in f32, also in rows that are computed again for NaN.
#[test]
fn scores_far_from_0_are_rounded_alike_in_rows_that_are_computed_again() {
    const KEYS: usize = 9;
    const DIM: usize = 5;
    for queue in queues() {
        for queries in [3, 20] {
            let case = AttentionCase { shape: [1, 1, 1, queries, KEYS, DIM], mask: MaskKind::Add, scale: 3.0, ..PLAIN };
            let mut problem = Problem::<f32>::new(case);
            // Even queries leave out key 0.
            let addend = |i: usize| if i.is_multiple_of(2 * KEYS) { f32::NEG_INFINITY } else { -1e9 };
            problem.addend = Some((0..queries * KEYS).map(addend).collect());
            let (clean, lse) = problem.forward(&queue);
            let [clean_dq, ..] = problem.backward(&queue, &clean, &lse);
            problem.v[..DIM].fill(f32::NAN);
            let (y, after) = problem.forward(&queue);
            assert_eq!(after, lse, "{queue:?} {queries}");
            let [dq, ..] = problem.backward(&queue, &y, &lse);
            for i in (0..queries * DIM).filter(|i| (i / DIM).is_multiple_of(2)) {
                let mean = (1..KEYS).map(|key| problem.v[key * DIM + i % DIM]).sum::<f32>() / (KEYS - 1) as f32;
                assert!((y[i] - mean).abs() < 1e-5, "{queue:?} {queries} at {i}: {}, not {mean}", y[i]);
                assert!((dq[i] - clean_dq[i]).abs() < 1e-3, "{queue:?} {queries} at {i}: {} {}", dq[i], clean_dq[i]);
            }
        }
    }
}

#[test]
fn values_near_the_greatest_number_give_finite_results() {
    for queue in queues() {
        for queries in [1, 9] {
            let case = AttentionCase { shape: [1, 1, 1, queries, 200, 5], ..PLAIN };
            let mut problem = Problem::<f32>::new(case);
            problem.v.fill(3e38);
            let (y, _) = problem.forward(&queue);
            assert!(y.iter().all(|&y| (y / 3e38 - 1.0).abs() < 1e-5), "{queue:?}: {y:?}");
        }
    }
}
