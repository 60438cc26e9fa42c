//! Attention: softmax of the scores of queries and keys, and sums of values.
//!
//! A task takes a block of queries of a head through blocks of keys, so that scores stay in the
//! cache. Few queries, as in decoding, are a path of their own.

mod backward;
mod blocks;
mod decode;
mod forward;
mod operands;
mod products;
mod repair;
mod results;
mod scores;

use backend_api::{
    BackendError, Buffer, Queue, Real,
    ops::linalg::{Attention, AttentionBackward},
};

use self::{
    blocks::{HeadRows, KEYS, QUERIES},
    operands::{Masks, Operands},
    repair::Gradients,
    results::{HeadResults, Results},
};
use super::reals::Reals;
use crate::{CpuQueue, checked::AttentionOps};

impl AttentionOps for CpuQueue {
    fn attention<T: Real>(&self, op: Attention<'_, Self, T>) -> Result<(), BackendError> {
        let Attention { params: p, q, k, v, key_lens, keep, addend, state, y, lse } = op;
        let (masks, lse) = (Masks { key_lens, keep, addend }, lse.unwrap_or_default());
        if [p.batch, p.heads, p.queries].contains(&0) || p.dim == 0 && lse.is_empty() {
            return Ok(());
        }
        let o = Operands::new(p, [q, k, v].map(Reals::from), masks, state);
        let results = Results::new(HeadResults::new(y.into(), p.y, p.dim), lse);
        self.attend(&o, &results)
    }

    fn attention_backward<T: Real>(&self, op: AttentionBackward<'_, Self, T>) -> Result<(), BackendError> {
        let AttentionBackward { params: p, q, k, v, key_lens, keep, addend, state, y, lse, g, dq, dk, dv } = op;
        // Rows without elements have no gradients.
        if p.dim == 0 {
            return Ok(());
        }
        let masks = Masks { key_lens, keep, addend };
        let o = Operands::new(p, [q, k, v].map(Reals::from), masks, state);
        let dq = HeadResults::new(dq.into(), p.q, p.dim);
        let dk = HeadResults::new(dk.into(), p.k, p.dim);
        let dv = HeadResults::new(dv.into(), p.v, p.dim);
        self.attention_gradients(&o, [y, g].map(Reals::from), lse, &dq, [&dk, &dv])
    }
}

impl CpuQueue {
    fn attend(&self, o: &Operands<'_>, results: &Results<'_>) -> Result<(), BackendError> {
        if o.p.queries <= decode::FEW_QUERIES {
            return decode::run(self, o, results);
        }
        let [batch, heads, queries] = [o.p.batch, o.p.heads, o.p.queries].map(|len| len as usize);
        let blocks = queries.div_ceil(QUERIES);
        let tasks = batch * heads * blocks;
        let _scratch = self.reserve_scratch::<f32>(tasks, forward::scratch(o))?;
        self.for_indices(tasks, 1, |task| {
            let (head, block) = (task / blocks, task % blocks);
            forward::run(self.simd(), o, [head / heads, head % heads], block * QUERIES, results);
        });
        Ok(())
    }

    /// The gradients of [`attend`](Self::attend), from its results `y` and the gradient `g`.
    fn attention_gradients(
        &self,
        o: &Operands<'_>,
        [y, g]: [Reals<'_>; 2],
        lse: &[f32],
        dq: &HeadResults<'_>,
        of_keys: [&HeadResults<'_>; 2],
    ) -> Result<(), BackendError> {
        let (simd, p) = (self.simd(), o.p);
        let [batch, heads, kv_heads] = [p.batch, p.heads, p.kv_heads].map(|len| len as usize);
        let [queries, keys] = [p.queries, p.keys].map(|len| len as usize);
        let (query_blocks, key_blocks) = (queries.div_ceil(QUERIES), keys.div_ceil(KEYS));
        let mut delta = self.zeros::<f32>(lse.len())?;
        let scratch = backward::query_scratch(o).max(backward::key_scratch(o)).max(backward::delta_scratch(o));
        let _scratch = self.reserve_scratch::<f32>(usize::MAX, scratch)?;
        // The sums that all weights of a query share.
        self.for_chunks(delta.view_mut(), queries.max(1), |i, delta| {
            let head = [i / heads, i % heads];
            let [y, g] = [y, g].map(|x| HeadRows::of(x, &p.y, head, o.dim()));
            backward::deltas(simd, o, y, g, delta);
        });
        let b = Gradients { o: *o, g, lse, delta: delta.view() };
        self.for_indices(batch.saturating_mul(heads).saturating_mul(query_blocks), 1, |task| {
            let (head, block) = (task / query_blocks, task % query_blocks);
            backward::queries(simd, &b, [head / heads, head % heads], block * QUERIES, dq);
        });
        self.for_indices(batch.saturating_mul(kv_heads).saturating_mul(key_blocks), 1, |task| {
            let (head, block) = (task / key_blocks, task % key_blocks);
            backward::keys(simd, &b, [head / kv_heads, head % kv_heads], block * KEYS, of_keys);
        });
        Ok(())
    }
}
