//! Attention of queries to keys and values, forward and backward.

use core_types::params::{
    attention::{AttentionParams, HeadStrides, MAX_HEAD_DIM},
    optim::StepState,
};

use crate::{
    Real,
    ops::{op, op::flop::of_attention},
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! attention_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Attention, forward and backward.
            ///
            /// Scores, exponentials and sums are computed in f32 for every `T`; weights may be
            /// rounded to `T` before their product with the values. The order of each sum depends
            /// only on the shape, so the result of a query has the same bits in every batch. No
            /// memory grows with `queries x keys`.
            ///
            /// Every op returns [`BackendError::Length`] if strides would leave a view, and
            /// [`BackendError::OutOfMemory`] or [`BackendError::BudgetExceeded`] for scratch
            /// memory.
            linalg::AttentionOps: Queue {
                attention<T>(Attention),
                attention_backward<T>(AttentionBackward),
            }
        }
    };
}

op! {
    /// `y_t = sum_s w_ts v_s` in every head, `w_t = softmax_s(scale (q_t . k_s) + addend_ts)`.
    ///
    /// A query reads the keys that no mask leaves out: those before the length of its batch, up to
    /// the diagonal of a causal mask, where `keep` is true, and where the addend is not -inf. The
    /// values of others do not matter, NaN among them. A query without any key gives zeros, and
    /// -inf as its `lse`. NaN and +inf among its scores make a query's result NaN.
    ///
    /// Weights are dropped after the softmax, as by [`Dropout`](super::Dropout) at their logical
    /// index: kept ones are multiplied by the scale. With an optimizer record, the mask's step is
    /// advanced by the steps that the record has begun.
    ///
    /// Dao et al., FlashAttention, arXiv 2205.14135; sums of the softmax by Milakov and Gimelshein,
    /// arXiv 1805.02867.
    pub struct Attention<'a, Q, T: Real> as "attention" {
        /// Shapes, strides, causal mask, scale and dropout.
        params: plain &'a AttentionParams,
        /// The queries: every element that their strides reach.
        q: read T [>= reached_by_q],
        /// The keys: every element that their strides reach.
        k: read T [>= reached_by_k],
        /// The values: every element that their strides reach.
        v: read T [>= reached_by_v],
        /// How many leading keys each batch has; all without. A greater number counts as `keys`.
        key_lens: read_if u32 [batch],
        /// Keys with `false` are left out.
        keep: read_if bool [>= reached_by_mask],
        /// Added to the scores; keys with -inf are left out.
        addend: read_if f32 [>= reached_by_mask],
        /// The record of an optimizer, if dropout follows one.
        state: read_if StepState [1],
        /// The results: every element that their strides reach.
        y: write T [>= reached_by_y],
        /// `ln sum_s exp(score_ts)` for each query, which the backward pass takes.
        lse: write_if f32 [batch, heads, queries],
    }
    sizes(self) {
        let p = self.params;
        let AttentionParams { batch, heads, queries, .. } = *p;
        let [reached_by_q, reached_by_k, reached_by_v, reached_by_y, reached_by_mask] = reached(p);
        let masks = usize::from(self.keep.is_some()) + usize::from(self.addend.is_some());
    }
    valid(self) {
        p.dim <= MAX_HEAD_DIM, "a head has more than 128 elements";
        heads_divide(p), "the heads of the queries are no multiple of the heads of the keys";
        p.causal <= 1, "the causal mask is neither 0 nor 1";
        masks <= 1, "both a mask to keep and one to add are given";
        results_are_apart(&p.y, [p.batch, p.heads, p.queries], p.dim), "elements of the result overlap";
    }
    flop(self) {
        of_attention(2, self.params)
    }
}

op! {
    /// The gradients of [`Attention`] with respect to queries, keys and values.
    ///
    /// With `g` the gradient with respect to y and `d_ts` the factor that dropout gave weight
    /// `(t, s)`: `dv_s = sum_t d_ts w_ts g_t`, and with `e_ts = d_ts (g_t . v_s)`,
    /// `h_ts = scale w_ts (e_ts - sum_r w_tr e_tr)`: `dq_t = sum_s h_ts k_s`,
    /// `dk_s = sum_t h_ts q_t`. Heads that share keys and values add to them in their order. Keys
    /// that no query reads get zeros.
    ///
    /// The weights are computed again from the scores and `lse`. The sum over r is `g_t . y_t`.
    /// Like weights, `h` may be rounded to `T` before its products.
    pub struct AttentionBackward<'a, Q, T: Real> as "attention_backward" {
        /// The parameters of the forward pass.
        params: plain &'a AttentionParams,
        /// The queries.
        q: read T [>= reached_by_q],
        /// The keys.
        k: read T [>= reached_by_k],
        /// The values.
        v: read T [>= reached_by_v],
        /// How many leading keys each batch has, as in the forward pass.
        key_lens: read_if u32 [batch],
        /// Keys with `false` were left out.
        keep: read_if bool [>= reached_by_mask],
        /// Added to the scores.
        addend: read_if f32 [>= reached_by_mask],
        /// The record of an optimizer, as it was in the forward pass.
        state: read_if StepState [1],
        /// The results of the forward pass.
        y: read T [>= reached_by_y],
        /// The `lse` of the forward pass.
        lse: read f32 [batch, heads, queries],
        /// The gradient with respect to y, with the layout of y.
        g: read T [>= reached_by_y],
        /// The gradient with respect to the queries, with their layout.
        dq: write T [>= reached_by_q],
        /// The gradient with respect to the keys, with their layout.
        dk: write T [>= reached_by_k],
        /// The gradient with respect to the values, with their layout.
        dv: write T [>= reached_by_v],
    }
    sizes(self) {
        let p = self.params;
        let AttentionParams { batch, heads, queries, .. } = *p;
        let [reached_by_q, reached_by_k, reached_by_v, reached_by_y, reached_by_mask] = reached(p);
        let masks = usize::from(self.keep.is_some()) + usize::from(self.addend.is_some());
    }
    valid(self) {
        p.dim <= MAX_HEAD_DIM, "a head has more than 128 elements";
        heads_divide(p), "the heads of the queries are no multiple of the heads of the keys";
        p.causal <= 1, "the causal mask is neither 0 nor 1";
        masks <= 1, "both a mask to keep and one to add are given";
        results_are_apart(&p.q, [p.batch, p.heads, p.queries], p.dim), "elements of the queries overlap";
        results_are_apart(&p.k, [p.batch, p.kv_heads, p.keys], p.dim), "elements of the keys overlap";
        results_are_apart(&p.v, [p.batch, p.kv_heads, p.keys], p.dim), "elements of the values overlap";
    }
    flop(self) {
        of_attention(5, self.params) // the scores again, and four products
    }
}

/// The elements that strides reach: of queries, keys, values, results and a mask.
fn reached(p: &AttentionParams) -> [u64; 5] {
    let span = |strides: &HeadStrides, shape| strides.span(shape).unwrap_or(u64::MAX);
    let of_keys = [p.batch, p.kv_heads, p.keys, p.dim];
    let of_queries = [p.batch, p.heads, p.queries, p.dim];
    let of_mask = [p.batch, p.heads, p.queries, p.keys];
    [span(&p.q, of_queries), span(&p.k, of_keys), span(&p.v, of_keys), span(&p.y, of_queries), span(&p.mask, of_mask)]
}

/// Whether the heads of queries are a multiple of the heads of keys and values.
fn heads_divide(p: &AttentionParams) -> bool {
    p.heads == 0 || p.heads.checked_rem(p.kv_heads) == Some(0)
}

/// Whether each stride of a result steps past everything that the shorter ones reach.
fn results_are_apart(strides: &HeadStrides, [batch, heads, rows]: [u64; 3], dim: u64) -> bool {
    if [batch, heads, rows, dim].contains(&0) {
        return true;
    }
    let mut axes = [(strides.batch, batch), (strides.head, heads), (strides.row, rows), (1, dim)];
    axes.sort_unstable();
    let mut reached = 0u64;
    axes.into_iter().filter(|&(_, len)| len > 1).all(|(stride, len)| {
        let apart = stride > reached;
        reached = reached.saturating_add(stride.saturating_mul(len - 1));
        apart
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_overlap_are_never_taken_for_apart() {
        let mut apart = 0;
        for code in 0..7u64.pow(6) {
            let digit = |i| code / 7u64.pow(i) % 7;
            let strides = HeadStrides { batch: 2 * digit(0), head: digit(1), row: digit(2) };
            let (batch, heads, rows, dim) = (1 + digit(3) % 3, 1 + digit(4) % 3, 1 + digit(5) % 3, 1 + digit(5) / 3);
            if !results_are_apart(&strides, [batch, heads, rows], dim) {
                continue;
            }
            apart += 1;
            let mut places: Vec<u64> = (0..batch)
                .flat_map(|b| (0..heads).flat_map(move |h| (0..rows).map(move |t| strides.start(b, h, t))))
                .flat_map(|start| start..start + dim)
                .collect();
            let count = places.len();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), count, "{strides:?} {batch} {heads} {rows} {dim}");
        }
        assert!(apart > 1000, "{apart}");
    }

    #[test]
    fn packed_and_transposed_layouts_are_apart() {
        for strides in [HeadStrides::by_row(5, 3, 4), HeadStrides::by_head(3, 5, 4)] {
            assert!(results_are_apart(&strides, [2, 3, 5], 4));
            assert!(!results_are_apart(&strides, [2, 3, 5], 5));
            assert!(!results_are_apart(&HeadStrides { head: 0, ..strides }, [2, 3, 5], 4));
        }
    }
}
