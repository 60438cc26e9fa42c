//! The keys and values of a sequence that a decoder extends.

use backend_api::{Queue, Real};
use core_types::params::attention::MAX_HEAD_DIM;

use super::{
    inputs::{AttentionInputs, AttentionOptions, AttentionShape},
    plan::AttentionPlan,
};
use crate::{
    AttentionOps, TensorOps,
    error::{NnError, Result},
    movement::copy,
    tensor::{Layout, Tensor, TensorMut, TensorRef},
};

/// The sizes of a [`KeyValueCache`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    /// Batches: sequences of one length.
    pub batch: usize,
    /// The most rows of a sequence.
    pub capacity: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Elements in a row of a head, at most 128.
    pub dim: usize,
}

/// Keys and values of all earlier rows, which the next rows of a sequence read.
///
/// Decoding appends the keys and values of a row and then attends from it, so that a step costs one
/// pass over the cache. The cache has all of its memory from [`new`](Self::new) on.
///
/// ```
/// use nn_ops::{CacheShape, KeyValueCache, Tensor};
///
/// let queue = runtime::cpu()?;
/// let mut cache = KeyValueCache::new(&queue, CacheShape { batch: 1, capacity: 2, kv_heads: 1, dim: 2 })?;
/// let row = |values: [f32; 2]| Tensor::from_values(&queue, &[1, 1, 1, 2], &values);
/// let (x, k, mut y) = (row([0.0, 0.0])?, row([1.0, -1.0])?, row([0.0, 0.0])?);
///
/// cache.append(&queue, k.at(), row([1.0, 2.0])?.at())?;
/// cache.step(&queue, x.at(), None, y.at_mut())?;
/// assert_eq!(y.values(&queue)?, [1.0, 2.0]);
///
/// cache.append(&queue, k.at(), row([3.0, 4.0])?.at())?;
/// cache.step(&queue, x.at(), None, y.at_mut())?; // both scores are equal
/// assert_eq!(y.values(&queue)?, [2.0, 3.0]);
/// assert!(cache.append(&queue, k.at(), k.at()).is_err()); // full
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeyValueCache<Q: Queue, T: Real> {
    shape: CacheShape,
    len: usize,
    /// `[batch, kv_heads, capacity, dim]`: the rows that a query reads are contiguous.
    keys: Tensor<Q, T>,
    values: Tensor<Q, T>,
}

/// The axes of the cache's tensors in the order of rows, `[batch, capacity, kv_heads, dim]`.
const BY_ROW: [usize; 4] = [0, 2, 1, 3];

impl<Q: Queue, T: Real> KeyValueCache<Q, T> {
    /// An empty cache, with memory for `capacity` rows.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for a row of more than 128 elements, [`NnError::Overflow`] if no
    /// tensor has the shape, [`NnError::Backend`] if memory is short.
    pub fn new(q: &Q, shape: CacheShape) -> Result<Self> {
        let CacheShape { batch, capacity, kv_heads, dim } = shape;
        if dim as u64 > MAX_HEAD_DIM {
            return Err(NnError::parameter("key_value_cache", "dim", "at most 128", dim as f64));
        }
        let all = [batch, kv_heads, capacity, dim];
        Ok(Self { shape, len: 0, keys: Tensor::alloc(q, &all)?, values: Tensor::alloc(q, &all)? })
    }

    /// The sizes.
    #[must_use]
    pub fn shape(&self) -> CacheShape {
        self.shape
    }

    /// The number of rows in the cache.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row in the cache.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The keys of all rows, `[batch, len, kv_heads, dim]`.
    ///
    /// # Errors
    /// As [`TensorRef::narrowed`]; the rows are always part of the cache.
    pub fn keys(&self) -> Result<TensorRef<'_, Q, T>> {
        self.keys.at().permuted(&BY_ROW)?.narrowed(1, 0..self.len)
    }

    /// The values of all rows, `[batch, len, kv_heads, dim]`.
    ///
    /// # Errors
    /// As [`TensorRef::narrowed`]; the rows are always part of the cache.
    pub fn values(&self) -> Result<TensorRef<'_, Q, T>> {
        self.values.at().permuted(&BY_ROW)?.narrowed(1, 0..self.len)
    }
}

impl<Q: TensorOps, T: Real> KeyValueCache<Q, T> {
    /// Copies the keys and values of the next rows, `[batch, rows, kv_heads, dim]` each.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for keys or values of another shape, [`NnError::Slice`] if the
    /// rows exceed the capacity; nothing is copied then. [`NnError::Backend`] after that.
    pub fn append(&mut self, q: &Q, k: TensorRef<'_, Q, T>, v: TensorRef<'_, Q, T>) -> Result<()> {
        const OP: &str = "key_value_append";
        let CacheShape { batch, capacity, kv_heads, dim } = self.shape;
        let rows = k.layout().shape().get(1).copied().unwrap_or(1);
        let expected = [batch, rows, kv_heads, dim];
        let unless_expected = |tensor, layout: &Layout| match layout.shape() == expected {
            true => Ok(()),
            false => Err(NnError::shape(OP, tensor, expected, layout)),
        };
        unless_expected("k", k.layout())?;
        unless_expected("v", v.layout())?;
        let end = self.len.saturating_add(rows);
        if end > capacity {
            return Err(NnError::Slice { op: OP, len: capacity, start: self.len, end });
        }
        copy(q, k, self.keys.at_mut().permuted(&BY_ROW)?.narrowed(1, self.len..end)?)?;
        copy(q, v, self.values.at_mut().permuted(&BY_ROW)?.narrowed(1, self.len..end)?)?;
        self.len = end;
        Ok(())
    }
}

impl<Q: AttentionOps, T: Real> KeyValueCache<Q, T> {
    /// Attends from the last rows of the sequences, whose keys and values are in the cache.
    ///
    /// The queries x and the results y have the shape `[batch, rows, heads, dim]`; decoding has one
    /// row. Each query reads the keys up to its own row. The scale is `1 / sqrt(dim)` if not given.
    ///
    /// # Errors
    /// [`NnError::Rank`] unless x has four axes, [`NnError::Parameter`] for more rows than are in
    /// the cache; otherwise as [`AttentionPlan::new`] and [`AttentionPlan::forward`].
    pub fn step(&self, q: &Q, x: TensorRef<'_, Q, T>, scale: Option<f32>, y: TensorMut<'_, Q, T>) -> Result<()> {
        const OP: &str = "attention_step";
        let &[_, queries, heads, _] = x.layout().shape() else {
            return Err(NnError::Rank { op: OP, tensor: "x", expected: 4, got: x.layout().rank() });
        };
        let Some(earlier) = self.len.checked_sub(queries) else {
            return Err(NnError::parameter(OP, "rows", "at most the length of the cache", queries as f64));
        };
        let CacheShape { batch, kv_heads, dim, .. } = self.shape;
        let shape = AttentionShape { batch, heads, kv_heads, queries, keys: self.len, dim };
        let options = AttentionOptions { scale, causal: Some(earlier as i64), dropout: None };
        let (keys, values) = (self.keys()?, self.values()?);
        let inputs = AttentionInputs::new(x.shorten(), keys.shorten(), values.shorten());
        AttentionPlan::new(shape, options)?.forward(q, inputs, y, None)
    }
}

debug_fields!(KeyValueCache<Q: Queue, T: Real> shape, len);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beyond_the_capacity_and_of_another_shape_are_refused() {
        let q = runtime::cpu().unwrap();
        let long = KeyValueCache::<_, f32>::new(&q, CacheShape { batch: 1, capacity: 1, kv_heads: 1, dim: 129 });
        assert_eq!(long.unwrap_err().to_string(), "`key_value_cache`: dim must be at most 128, got 129");
        let mut cache = KeyValueCache::new(&q, CacheShape { batch: 2, capacity: 3, kv_heads: 2, dim: 4 }).unwrap();
        let rows = |rows: usize, dim: usize| {
            Tensor::from_values(&q, &[2, rows, 2, dim], &vec![1.0f32; 4 * rows * dim]).unwrap()
        };
        let (two, other) = (rows(2, 4), rows(2, 3));
        assert!(cache.is_empty());
        cache.append(&q, two.at(), two.at()).unwrap();
        let full = cache.append(&q, two.at(), two.at());
        assert_eq!(full, Err(NnError::Slice { op: "key_value_append", len: 3, start: 2, end: 4 }));
        for (tensor, k, v) in [("k", &other, &two), ("v", &two, &other), ("v", &two, &rows(1, 4))] {
            match cache.append(&q, k.at(), v.at()) {
                Err(NnError::ShapeMismatch { op: "key_value_append", tensor: got, .. }) => assert_eq!(got, tensor),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(cache.len(), 2);

        let mut y = rows(3, 4);
        let early = cache.step(&q, rows(3, 4).at(), None, y.at_mut());
        assert!(matches!(early, Err(NnError::Parameter { op: "attention_step", name: "rows", .. })), "{early:?}");
        let flat = Tensor::from_values(&q, &[16], &[1.0f32; 16]).unwrap();
        let flat = cache.step(&q, flat.at(), None, y.at_mut());
        assert_eq!(flat, Err(NnError::Rank { op: "attention_step", tensor: "x", expected: 4, got: 1 }));
        cache.clear();
        assert_eq!((cache.len(), cache.keys().unwrap().layout().shape()), (0, &[2, 0, 2, 4][..]));
    }
}
