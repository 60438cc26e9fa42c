//! What attention reads, and the keys and weights of each query.

use core_types::{
    params::{attention::AttentionParams, elementwise::DropoutParams, optim::StepState},
    philox,
};

use super::blocks::{HeadRows, QUERIES};
use crate::linalg::{dropout::of_step, reals::Reals};

/// The masks, which leave keys out of queries.
#[derive(Clone, Copy)]
pub(super) struct Masks<'a> {
    pub(super) key_lens: Option<&'a [u32]>,
    pub(super) keep: Option<&'a [bool]>,
    pub(super) addend: Option<&'a [f32]>,
}

/// The operands of a forward or backward pass.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a> {
    pub(super) p: &'a AttentionParams,
    q: Reals<'a>,
    k: Reals<'a>,
    v: Reals<'a>,
    masks: Masks<'a>,
    dropout: DropoutParams,
}

impl<'a> Operands<'a> {
    /// Dropout follows the record `state`, if there is one.
    pub(super) fn new(
        p: &'a AttentionParams,
        [q, k, v]: [Reals<'a>; 3],
        masks: Masks<'a>,
        state: Option<&[StepState]>,
    ) -> Self {
        Self { p, q, k, v, masks, dropout: of_step(&p.dropout, state) }
    }

    /// Elements of a row.
    pub(super) fn dim(&self) -> usize {
        self.p.dim as usize
    }

    /// Heads of queries that share a head of keys; 0 without heads.
    pub(super) fn group(&self) -> usize {
        self.p.heads.checked_div(self.p.kv_heads).unwrap_or(0) as usize
    }

    /// Whether rows are widened to f32.
    pub(super) fn widens(&self) -> bool {
        self.q.as_f32().is_none()
    }

    /// The queries of a batch and head.
    pub(super) fn queries_of(&self, head: [usize; 2]) -> HeadRows<'a> {
        HeadRows::of(self.q, &self.p.q, head, self.dim())
    }

    /// The keys of a batch and a head of their own.
    pub(super) fn keys_of(&self, kv_head: [usize; 2]) -> HeadRows<'a> {
        HeadRows::of(self.k, &self.p.k, kv_head, self.dim())
    }

    /// The values of a batch and a head of their own.
    pub(super) fn values_of(&self, kv_head: [usize; 2]) -> HeadRows<'a> {
        HeadRows::of(self.v, &self.p.v, kv_head, self.dim())
    }

    /// The batch and head of the keys that a head of queries reads.
    pub(super) fn kv_head(&self, [batch, head]: [usize; 2]) -> [usize; 2] {
        [batch, self.p.kv_head(head as u64) as usize]
    }

    /// How many leading keys a query reads, but for those that a mask leaves out.
    pub(super) fn limit(&self, batch: usize, query: usize) -> usize {
        let len = self.masks.key_lens.map_or(self.p.keys, |lens| u64::from(lens[batch]));
        self.p.keys_of(query as u64, len) as usize
    }

    /// [`limit`](Self::limit) of each query of a block, and the greatest of them.
    pub(super) fn limits(&self, batch: usize, first: usize, queries: usize) -> ([usize; QUERIES], usize) {
        let mut limits = [0; QUERIES];
        for (t, limit) in limits.iter_mut().enumerate().take(queries) {
            *limit = self.limit(batch, first + t);
        }
        let most = limits.into_iter().max().unwrap_or(0);
        (limits, most)
    }

    /// Whether there is a mask with an element for each query and key.
    pub(super) fn has_mask(&self) -> bool {
        self.masks.keep.is_some() || self.masks.addend.is_some()
    }

    /// Addends of the scores of a query from `key`: -inf for keys that the mask leaves out.
    #[inline(always)]
    pub(super) fn addends(&self, [batch, head]: [usize; 2], query: usize, key: usize, to: &mut [f32]) {
        // Without a mask, its strides may be any numbers.
        let at = (self.p.mask.start(batch as u64, head as u64, query as u64) as usize).wrapping_add(key);
        if let Some(keep) = self.masks.keep {
            for (to, &keep) in to.iter_mut().zip(&keep[at..]) {
                *to = if keep { 0.0 } else { f32::NEG_INFINITY };
            }
        } else if let Some(addend) = self.masks.addend {
            to.copy_from_slice(&addend[at..][..to.len()]);
        }
    }

    /// Dropout of the weights, if it changes any.
    pub(super) fn dropout(&self) -> Option<&DropoutParams> {
        (self.dropout.threshold != 0 || self.dropout.scale != 1.0).then_some(&self.dropout)
    }

    /// The place of a query among all.
    pub(super) fn query_index(&self, [batch, head]: [usize; 2], query: usize) -> usize {
        let [heads, queries] = [self.p.heads, self.p.queries].map(|len| len as usize);
        (batch * heads + head) * queries + query
    }

    /// The logical index of a weight, for dropout.
    #[inline(always)]
    pub(super) fn weight_index(&self, [batch, head]: [usize; 2], query: usize, key: usize) -> u64 {
        let row = self.p.weight_index(batch as u64, head as u64, query as u64);
        self.dropout.first.wrapping_add(row).wrapping_add(key as u64)
    }

    /// The factor that dropout gives a weight.
    pub(super) fn factor(&self, head: [usize; 2], query: usize, key: usize) -> f64 {
        let (p, at) = (&self.dropout, self.weight_index(head, query, key));
        let word = philox::block(p.seed, p.site, p.step, at / 4)[(at % 4) as usize];
        if u64::from(word) >= p.threshold { f64::from(p.scale) } else { 0.0 }
    }

    /// The score of a key, rounded to f32, if the query reads it and it is not -inf.
    pub(super) fn score(&self, head: [usize; 2], query: usize, key: usize) -> Option<f64> {
        if key >= self.limit(head[0], query) {
            return None;
        }
        let mut addend = [0.0];
        self.addends(head, query, key, &mut addend);
        let [addend] = addend;
        if addend == f32::NEG_INFINITY {
            return None;
        }
        let (q, k) = (self.queries_of(head).row(query), self.keys_of(self.kv_head(head)).row(key));
        // Rounded to f32, as the scores in `lse` are: an addend of -1e9 absorbs the product there.
        let score = (f64::from(self.p.scale) * dot(q, k)) as f32 + addend;
        (score != f32::NEG_INFINITY).then_some(f64::from(score))
    }
}

/// The sum of the products of two rows.
pub(super) fn dot(a: Reals<'_>, b: Reals<'_>) -> f64 {
    (0..a.len()).map(|i| f64::from(a.get(i)) * f64::from(b.get(i))).sum()
}
