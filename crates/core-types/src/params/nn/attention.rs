//! Parameters of attention.

use super::elementwise::DropoutParams;
use crate::params::sizes::sizes;

/// The greatest length of a head's vectors.
pub const MAX_HEAD_DIM: u64 = 128;

/// Strides of the rows of all heads in a view.
///
/// Element `d` of row `t` of head `h` of batch `b` is at `b batch + h head + t row + d`. A stride
/// of 0 reads the same elements again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HeadStrides {
    /// Elements from one batch to the next.
    pub batch: u64,
    /// Elements from one head to the next.
    pub head: u64,
    /// Elements from one row to the next.
    pub row: u64,
}

impl HeadStrides {
    /// Strides of a row-major `[batch, rows, heads, dim]` tensor, such as a packed projection.
    #[inline]
    #[must_use]
    pub const fn by_row(rows: u64, heads: u64, dim: u64) -> Self {
        let row = heads.wrapping_mul(dim);
        Self { batch: rows.wrapping_mul(row), head: dim, row }
    }

    /// Strides of a row-major `[batch, heads, rows, dim]` tensor.
    #[inline]
    #[must_use]
    pub const fn by_head(heads: u64, rows: u64, dim: u64) -> Self {
        let head = rows.wrapping_mul(dim);
        Self { batch: heads.wrapping_mul(head), head, row: dim }
    }

    /// The start of a row; the caller has checked that the span fits.
    #[inline]
    #[must_use]
    pub const fn start(&self, batch: u64, head: u64, row: u64) -> u64 {
        let (batch, head) = (batch.wrapping_mul(self.batch), head.wrapping_mul(self.head));
        batch.wrapping_add(head).wrapping_add(row.wrapping_mul(self.row))
    }

    /// Elements from the start of the view to the end of the last element.
    ///
    /// `None` if the count wraps; 0 without an element.
    #[inline]
    #[must_use]
    pub const fn span(&self, [batch, heads, rows, dim]: [u64; 4]) -> Option<u64> {
        let axes = [(batch, self.batch), (heads, self.head), (rows, self.row), (dim, 1)];
        let (mut end, mut wraps, mut i) = (1u64, false, 0);
        while i < axes.len() {
            let (len, stride) = axes[i];
            if len == 0 {
                return Some(0);
            }
            match stride.checked_mul(len - 1) {
                Some(reach) => match end.checked_add(reach) {
                    Some(sum) => end = sum,
                    None => wraps = true,
                },
                None => wraps = true,
            }
            i += 1;
        }
        if wraps { None } else { Some(end) }
    }
}

/// Attention of `queries` rows to `keys` rows in every head of a batch.
///
/// Head `h` of the queries reads head `h kv_heads / heads` of keys and values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct AttentionParams {
    /// Batches.
    pub batch: u64,
    /// Heads of queries and results: a multiple of `kv_heads`.
    pub heads: u64,
    /// Heads of keys and values, at least 1 unless there is no head.
    pub kv_heads: u64,
    /// Rows of queries and results in a head.
    pub queries: u64,
    /// Rows of keys and values in a head.
    pub keys: u64,
    /// Elements in a row, at most [`MAX_HEAD_DIM`].
    pub dim: u64,
    /// Layout of queries, and of their gradient.
    pub q: HeadStrides,
    /// Layout of keys, and of their gradient.
    pub k: HeadStrides,
    /// Layout of values, and of their gradient.
    pub v: HeadStrides,
    /// Layout of results, and of the gradient with respect to them.
    pub y: HeadStrides,
    /// Layout of a mask with a row of `keys` elements for each query.
    pub mask: HeadStrides,
    /// With `causal` 1, query t reads keys 0 to `t + causal_offset` only.
    pub causal_offset: i64,
    /// 1 for a causal mask, 0 without.
    pub causal: u32,
    /// Factor of the products of queries and keys.
    pub scale: f32,
    /// Dropout of the weights; a threshold of 0 keeps all.
    ///
    /// Weight `(b, h, t, s)` has the logical index `((b heads + h) queries + t) keys + s`, added to
    /// `first`.
    pub dropout: DropoutParams,
}

sizes!(AttentionParams { batch, heads, kv_heads, queries, keys, dim, causal });

impl AttentionParams {
    /// The head of keys and values that head `head` of the queries reads.
    #[inline]
    #[must_use]
    pub const fn kv_head(&self, head: u64) -> u64 {
        match self.heads.checked_div(self.kv_heads) {
            Some(group) if group > 0 => head / group,
            _ => 0,
        }
    }

    /// How many leading keys a query reads, of the `len` that its batch has.
    #[inline]
    #[must_use]
    pub const fn keys_of(&self, query: u64, len: u64) -> u64 {
        let len = if len < self.keys { len } else { self.keys };
        if self.causal == 0 {
            return len;
        }
        // Below 2^64 + 2^63, above -2^63: no wrap in 128 bits.
        let keep = query as i128 + self.causal_offset as i128 + 1;
        if keep <= 0 {
            0
        } else if keep >= len as i128 {
            len
        } else {
            keep as u64
        }
    }

    /// The logical index of the first weight of a row, for dropout.
    #[inline]
    #[must_use]
    pub const fn weight_index(&self, batch: u64, head: u64, query: u64) -> u64 {
        let row = batch.wrapping_mul(self.heads).wrapping_add(head).wrapping_mul(self.queries).wrapping_add(query);
        row.wrapping_mul(self.keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: DropoutParams = DropoutParams { seed: 0, site: 0, step: 0, first: 0, threshold: 0, scale: 1.0 };
    const ZERO: HeadStrides = HeadStrides { batch: 0, head: 0, row: 0 };
    const PARAMS: AttentionParams = AttentionParams {
        batch: 2,
        heads: 6,
        kv_heads: 2,
        queries: 4,
        keys: 5,
        dim: 8,
        q: ZERO,
        k: ZERO,
        v: ZERO,
        y: ZERO,
        mask: ZERO,
        causal_offset: 0,
        causal: 0,
        scale: 1.0,
        dropout: NONE,
    };

    #[test]
    fn the_span_ends_after_the_last_element() {
        let packed = HeadStrides::by_row(5, 3, 4);
        assert_eq!(packed, HeadStrides { batch: 60, head: 4, row: 12 });
        assert_eq!(packed.span([2, 3, 5, 4]), Some(120));
        assert_eq!((packed.start(1, 2, 4), packed.span([2, 3, 0, 4])), (116, Some(0)));
        assert_eq!(HeadStrides::by_head(3, 5, 4), HeadStrides { batch: 60, head: 20, row: 4 });
        assert_eq!(HeadStrides { batch: 0, head: 0, row: u64::MAX }.span([9, 9, 3, 1]), None);
        assert_eq!(ZERO.span([9, 9, 9, 7]), Some(7));
    }

    #[test]
    fn heads_share_keys_in_groups_of_one_size() {
        assert_eq!([0, 1, 2, 3, 4, 5].map(|head| PARAMS.kv_head(head)), [0, 0, 0, 1, 1, 1]);
        assert_eq!(AttentionParams { kv_heads: 0, heads: 0, ..PARAMS }.kv_head(3), 0);
        assert_eq!(PARAMS.weight_index(1, 2, 3), ((6 + 2) * 4 + 3) * 5);
    }

    #[test]
    fn a_query_reads_the_keys_of_its_batch_up_to_its_own_place() {
        let causal = |causal_offset| AttentionParams { causal: 1, causal_offset, ..PARAMS };
        assert_eq!([0, 1, 7].map(|len| PARAMS.keys_of(3, len)), [0, 1, 5]);
        assert_eq!([0, 1, 2, 3].map(|query| causal(-2).keys_of(query, 5)), [0, 0, 1, 2]);
        assert_eq!([0, 3].map(|query| causal(1).keys_of(query, 3)), [2, 3]);
        assert_eq!(causal(i64::MAX).keys_of(u64::MAX, 9), 5);
        assert_eq!(causal(i64::MIN).keys_of(u64::MAX, 9), 5);
        assert_eq!(causal(i64::MIN).keys_of(0, 9), 0);
    }
}
