//! Single rows of results in f64, for those that are not finite.
//!
//! The blocks multiply keys, values and gradients of all their rows, also by weights of 0, which
//! makes NaN of numbers that are not finite. Here, keys that a query does not read are left
//! out. A row that is not finite for another reason is computed again too, with sums that do not
//! overflow.

use core_types::params::attention::MAX_HEAD_DIM;

use super::{
    blocks::HeadRows,
    operands::{Operands, dot},
};
use crate::linalg::reals::Reals;

const DIM: usize = MAX_HEAD_DIM as usize;

/// The operands of a backward pass.
#[derive(Clone, Copy)]
pub(super) struct Gradients<'a> {
    pub(super) o: Operands<'a>,
    pub(super) g: Reals<'a>,
    pub(super) lse: &'a [f32],
    /// The sums `g_t . y_t`.
    pub(super) delta: &'a [f32],
}

impl<'a> Gradients<'a> {
    /// The gradients with respect to the results of a batch and head.
    pub(super) fn gradients_of(&self, head: [usize; 2]) -> HeadRows<'a> {
        HeadRows::of(self.g, &self.o.p.y, head, self.o.dim())
    }

    /// The weight of a key after dropout and the gradient of its score, if the query reads it.
    fn pair(&self, head: [usize; 2], query: usize, key: usize) -> Option<[f64; 2]> {
        let o = &self.o;
        let at = o.query_index(head, query);
        let lse = self.lse[at];
        if lse == f32::NEG_INFINITY {
            return None;
        }
        let weight = (o.score(head, query, key)? - f64::from(lse)).exp();
        let factor = o.factor(head, query, key);
        let product = dot(self.gradients_of(head).row(query), o.values_of(o.kv_head(head)).row(key));
        Some([factor * weight, weight * (factor * product - f64::from(self.delta[at]))])
    }
}

/// `sums += factor x`.
fn add(sums: &mut [f64; DIM], factor: f64, x: Reals<'_>) {
    for (i, sum) in sums.iter_mut().enumerate().take(x.len()) {
        *sum += factor * f64::from(x.get(i));
    }
}

/// Writes sums times `factor`.
fn round(sums: &[f64; DIM], factor: f64, to: &mut [f32]) {
    for (to, sum) in to.iter_mut().zip(sums) {
        *to = (sum * factor) as f32;
    }
}

/// The result of a query that reads a key.
#[cold]
pub(super) fn result(o: &Operands<'_>, head: [usize; 2], query: usize, to: &mut [f32]) {
    let values = o.values_of(o.kv_head(head));
    let keys = 0..o.limit(head[0], query);
    let scores = keys.clone().filter_map(|key| o.score(head, query, key));
    let greatest = scores.fold(f64::NEG_INFINITY, f64::max);
    // The sum of these weights: the error of a logarithm in f32 grows with the scores.
    let (mut sums, mut sum) = ([0.0; DIM], 0.0);
    for key in keys {
        if let Some(score) = o.score(head, query, key) {
            let weight = (score - greatest).exp();
            sum += weight;
            add(&mut sums, weight * o.factor(head, query, key), values.row(key));
        }
    }
    round(&sums, 1.0 / sum, to);
}

/// The gradient with respect to a query.
#[cold]
pub(super) fn query_gradient(b: &Gradients<'_>, head: [usize; 2], query: usize, to: &mut [f32]) {
    let keys = b.o.keys_of(b.o.kv_head(head));
    let mut sums = [0.0; DIM];
    for key in 0..b.o.limit(head[0], query) {
        if let Some([_, gradient]) = b.pair(head, query, key) {
            add(&mut sums, gradient, keys.row(key));
        }
    }
    round(&sums, f64::from(b.o.p.scale), to);
}

/// The gradients with respect to a key and its value.
#[cold]
pub(super) fn key_gradients(b: &Gradients<'_>, [batch, kv_head]: [usize; 2], key: usize, to: [&mut [f32]; 2]) {
    let (dim, group) = (b.o.dim(), b.o.group());
    let mut sums = [[0.0; DIM]; 2];
    for head in kv_head * group..(kv_head + 1) * group {
        let head = [batch, head];
        for query in 0..b.o.p.queries as usize {
            let Some([weight, gradient]) = b.pair(head, query, key) else { continue };
            add(&mut sums[0], gradient, b.o.queries_of(head).row(query));
            add(&mut sums[1], weight, b.gradients_of(head).row(query));
            // Nothing changes NaN.
            if sums.iter().all(|sums| sums[..dim].iter().all(|sum| sum.is_nan())) {
                break;
            }
        }
    }
    let [dk, dv] = to;
    round(&sums[0], f64::from(b.o.p.scale), dk);
    round(&sums[1], 1.0, dv);
}
