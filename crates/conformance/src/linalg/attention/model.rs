//! Attention in f64, query by query.

use core_types::{
    params::{
        attention::{AttentionParams, HeadStrides},
        elementwise::DropoutParams,
    },
    philox,
};

use super::InputSource;

/// The value that a result's buffer starts with, and keeps between rows.
pub(super) const UNTOUCHED: f32 = 7.0;

/// Dropout that keeps all.
const KEEP_ALL: DropoutParams = DropoutParams { seed: 0, site: 0, step: 0, first: 0, threshold: 0, scale: 1.0 };

/// `[batch, heads, kv_heads, queries, keys, dim]`.
pub(super) type AttentionSizes = [u64; 6];

/// Parameters and operands on the host, in buffers that the strides reach.
///
/// Values are exact in every element type; elements between rows are NaN.
#[derive(Clone)]
pub(super) struct Problem {
    pub(super) params: AttentionParams,
    pub(super) q: Vec<f32>,
    pub(super) k: Vec<f32>,
    pub(super) v: Vec<f32>,
    /// The gradient with respect to the result, with its layout.
    pub(super) g: Vec<f32>,
    pub(super) key_lens: Option<Vec<u32>>,
    pub(super) keep: Option<Vec<bool>>,
    pub(super) addend: Option<Vec<f32>>,
    /// The steps that an optimizer has taken and left out, if dropout follows one.
    pub(super) steps: Option<[u64; 2]>,
}

/// The weights of a query.
struct Weights {
    /// Each key that it reads, with its weight and the factor of dropout.
    keys: Vec<(u64, f64, f64)>,
    lse: f64,
}

/// Parameters for row-major `[batch, rows, heads, dim]` tensors, without masks and dropout.
pub(super) fn packed([batch, heads, kv_heads, queries, keys, dim]: AttentionSizes) -> AttentionParams {
    AttentionParams {
        batch,
        heads,
        kv_heads,
        queries,
        keys,
        dim,
        q: HeadStrides::by_row(queries, heads, dim),
        k: HeadStrides::by_row(keys, kv_heads, dim),
        v: HeadStrides::by_row(keys, kv_heads, dim),
        y: HeadStrides::by_row(queries, heads, dim),
        mask: HeadStrides::by_head(heads, queries, keys),
        causal_offset: 0,
        causal: 0,
        scale: 1.0 / (dim.max(1) as f32).sqrt(),
        dropout: KEEP_ALL,
    }
}

/// The place of element 0 of a row.
pub(super) fn start(s: &HeadStrides, [batch, head, row]: [u64; 3]) -> usize {
    (batch * s.batch + head * s.head + row * s.row) as usize
}

/// Every batch, head and row of a tensor of `[batch, heads, rows]`.
pub(super) fn rows([batch, heads, rows]: [u64; 3]) -> impl Iterator<Item = [u64; 3]> {
    (0..batch).flat_map(move |b| (0..heads).flat_map(move |h| (0..rows).map(move |t| [b, h, t])))
}

/// Which elements of a buffer are elements of a tensor of `[batch, heads, rows]` rows.
pub(super) fn covered(s: &HeadStrides, shape: [u64; 3], len: u64) -> Vec<bool> {
    let end = rows(shape).map(|at| start(s, at) + len as usize).max().filter(|_| len > 0).unwrap_or(0);
    let mut covered = vec![false; end];
    rows(shape).for_each(|at| covered[start(s, at)..][..len as usize].fill(true));
    covered
}

/// Multiples of `scale / 128` below `scale`, of 8 significant bits, and NaN between rows.
fn operand(s: &HeadStrides, shape: [u64; 3], len: u64, seed: u64, scale: f32) -> Vec<f32> {
    let mut random = InputSource::new(seed);
    let mut next = || ((random.word() >> 8) % 256) as f32 / 128.0 - 1.0;
    covered(s, shape, len).into_iter().map(|used| if used { scale * next() } else { f32::NAN }).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

impl Problem {
    /// Operands for `params`, without a mask; scores differ by several units.
    pub(super) fn new(params: AttentionParams, seed: u64) -> Self {
        let AttentionParams { batch, heads, kv_heads, queries, keys, dim, .. } = params;
        let (of_queries, of_keys) = ([batch, heads, queries], [batch, kv_heads, keys]);
        Self {
            q: operand(&params.q, of_queries, dim, seed, 4.0),
            k: operand(&params.k, of_keys, dim, seed + 1, 1.0),
            v: operand(&params.v, of_keys, dim, seed + 2, 1.0),
            g: operand(&params.y, of_queries, dim, seed + 3, 1.0),
            key_lens: None,
            keep: None,
            addend: None,
            steps: None,
            params,
        }
    }

    /// An operand by its name: `q`, `k`, `v` or `g`.
    pub(super) fn operand(&mut self, name: &str) -> &mut [f32] {
        match name {
            "q" => &mut self.q,
            "k" => &mut self.k,
            "v" => &mut self.v,
            _ => &mut self.g,
        }
    }

    /// `[batch, heads, queries]`.
    pub(super) fn of_queries(&self) -> [u64; 3] {
        [self.params.batch, self.params.heads, self.params.queries]
    }

    /// `[batch, kv_heads, keys]`.
    pub(super) fn of_keys(&self) -> [u64; 3] {
        [self.params.batch, self.params.kv_heads, self.params.keys]
    }

    /// The place of key 0 of head `head`'s keys.
    fn key_row(&self, s: &HeadStrides, [batch, head, _]: [u64; 3], key: u64) -> usize {
        let group = self.params.heads / self.params.kv_heads;
        start(s, [batch, head / group, key])
    }

    fn row<'a>(&self, all: &'a [f32], start: usize) -> &'a [f32] {
        &all[start..][..self.params.dim as usize]
    }

    /// The addend of a key that a query reads; `None` for one that is left out.
    fn addend(&self, at: [u64; 3], key: u64) -> Option<f64> {
        let p = &self.params;
        let in_batch = self.key_lens.as_ref().is_none_or(|lens| key < u64::from(lens[at[0] as usize]));
        let in_past = p.causal == 0 || i128::from(key) <= i128::from(at[2]) + i128::from(p.causal_offset);
        let place = start(&p.mask, at) + key as usize;
        let kept = self.keep.as_ref().is_none_or(|keep| keep[place]);
        let addend = self.addend.as_ref().map_or(0.0, |addend| addend[place]);
        (in_batch && in_past && kept && addend != f32::NEG_INFINITY).then_some(f64::from(addend))
    }

    /// The factor that dropout gives a weight.
    fn factor(&self, [batch, head, query]: [u64; 3], key: u64) -> f64 {
        let (p, d) = (&self.params, &self.params.dropout);
        let index = d.first + ((batch * p.heads + head) * p.queries + query) * p.keys + key;
        let begun = self.steps.map_or(0, |[taken, left_out]| taken.wrapping_add(left_out) as u32);
        let word = philox::block(d.seed, d.site, d.step.wrapping_add(begun), index / 4)[(index % 4) as usize];
        if u64::from(word) >= d.threshold { f64::from(d.scale) } else { 0.0 }
    }

    fn weights(&self, at: [u64; 3]) -> Weights {
        let p = &self.params;
        let query = self.row(&self.q, start(&p.q, at));
        let scores: Vec<(u64, f64)> = (0..p.keys)
            .filter_map(|key| {
                let product = dot(query, self.row(&self.k, self.key_row(&p.k, at, key)));
                Some((key, f64::from(p.scale) * product + self.addend(at, key)?))
            })
            .collect();
        let greatest = scores.iter().fold(f64::NEG_INFINITY, |greatest, &(_, score)| greatest.max(score));
        let sum: f64 = scores.iter().map(|(_, score)| (score - greatest).exp()).sum();
        let weight = |(key, score): (u64, f64)| (key, (score - greatest).exp() / sum, self.factor(at, key));
        Weights { lse: greatest + sum.ln(), keys: scores.into_iter().map(weight).collect() }
    }

    /// A buffer for a tensor that starts at zero, untouched between rows.
    fn zeros(&self, s: &HeadStrides, shape: [u64; 3]) -> Vec<f64> {
        let zero = |used| if used { 0.0 } else { f64::from(UNTOUCHED) };
        covered(s, shape, self.params.dim).into_iter().map(zero).collect()
    }

    /// The buffer of the result, and the logarithms of the sums.
    pub(super) fn forward(&self) -> (Vec<f64>, Vec<f64>) {
        let p = &self.params;
        let (mut y, mut lse) = (self.zeros(&p.y, self.of_queries()), Vec::new());
        for at in rows(self.of_queries()) {
            let weights = self.weights(at);
            for &(key, weight, factor) in &weights.keys {
                let values = self.row(&self.v, self.key_row(&p.v, at, key));
                add(&mut y[start(&p.y, at)..], weight * factor, values);
            }
            lse.push(weights.lse);
        }
        (y, lse)
    }

    /// The buffers of the gradients with respect to queries, keys and values.
    pub(super) fn backward(&self) -> [Vec<f64>; 3] {
        let p = &self.params;
        let mut dq = self.zeros(&p.q, self.of_queries());
        let (mut dk, mut dv) = (self.zeros(&p.k, self.of_keys()), self.zeros(&p.v, self.of_keys()));
        for at in rows(self.of_queries()) {
            let keys = self.weights(at).keys;
            let (query, g) = (self.row(&self.q, start(&p.q, at)), self.row(&self.g, start(&p.y, at)));
            let of_weight = |key, factor: f64| factor * dot(g, self.row(&self.v, self.key_row(&p.v, at, key)));
            let mean: f64 = keys.iter().map(|&(key, weight, factor)| weight * of_weight(key, factor)).sum();
            for &(key, weight, factor) in &keys {
                let of_score = f64::from(p.scale) * weight * (of_weight(key, factor) - mean);
                let from = self.key_row(&p.k, at, key);
                add(&mut dv[self.key_row(&p.v, at, key)..], weight * factor, g);
                add(&mut dk[from..], of_score, query);
                add(&mut dq[start(&p.q, at)..], of_score, self.row(&self.k, from));
            }
        }
        [dq, dk, dv]
    }
}

/// Adds `factor` times a row.
fn add(to: &mut [f64], factor: f64, row: &[f32]) {
    to.iter_mut().zip(row).for_each(|(to, &x)| *to += factor * f64::from(x));
}
