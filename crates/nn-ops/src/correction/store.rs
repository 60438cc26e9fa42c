//! States whose predictions have been compared with what came.

use backend_api::{
    Buffer, Queue,
    ops::correction::{SimilarStates as Search, StoreStates},
};
use core_types::params::correction::{MOST_SIMILAR, SimilarParams, StoreParams};

use crate::{
    CorrectionOps,
    error::{NnError, Result},
    tensor::{Layout, Planned, TensorRef},
};

const OP: &str = "residual_store";

/// The most recent states with known outcomes: a ring on a queue's device.
///
/// For each state it holds the features, the residual (the outcome less the prediction), the step,
/// and the confidence of the prediction.
///
/// Nothing waits: the number of states is a number on the device, so that a recorded graph sees
/// each stored state.
///
/// ```
/// use backend_api::Queue;
/// use nn_ops::{ResidualStore, SimilarStates, Tensor};
///
/// let q = runtime::cpu()?;
/// let mut store = ResidualStore::new(&q, 100, 2)?;
/// let features = Tensor::from_values(&q, &[3, 2], &[1.0f32, 0.0, 3.0, 3.0, 0.0, 2.0])?;
/// let outcomes = Tensor::from_values(&q, &[3, 3], &[0.0f32; 9])?;
/// store.store(&q, features.at(), outcomes.at())?;
///
/// let mut similar = SimilarStates::new(&q, 1, 2)?;
/// let query = Tensor::from_values(&q, &[1, 2], &[0.1f32, 5.0])?;
/// store.similar(&q, query.at(), &mut similar)?;
/// assert_eq!(q.download(similar.places())?, [2, 1]); // along the second axis, and between both
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ResidualStore<Q: Queue> {
    capacity: usize,
    width: usize,
    states: Q::Buf<f32>,
    norms: Q::Buf<f32>,
    known: Q::Buf<f32>,
    stored: Q::Buf<u64>,
}

impl<Q: CorrectionOps> ResidualStore<Q> {
    /// A store of the last `capacity` states of `width` features.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for a capacity of 0 or of 2^32 - 1 and more, [`NnError::Overflow`] if
    /// the features cannot be counted, [`NnError::Backend`] if memory is short.
    pub fn new(q: &Q, capacity: usize, width: usize) -> Result<Self> {
        if capacity == 0 || capacity as u64 >= u64::from(u32::MAX) {
            return Err(NnError::parameter(OP, "the capacity", "1 or more and below 2^32 - 1", capacity as f64));
        }
        let of = |len: usize| capacity.checked_mul(len).ok_or(NnError::Overflow { op: OP });
        let (states, known) = (of(width)?, of(3)?);
        let (states, norms, known) = (q.alloc(states)?, q.alloc(capacity)?, q.alloc(known)?);
        let mut store = Self { capacity, width, states, norms, known, stored: q.alloc(1)? };
        store.clear(q)?;
        Ok(store)
    }

    /// States that are kept.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Features of a state.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many states have ever been stored: one number on the device.
    #[must_use]
    pub fn stored(&self) -> &Q::Buf<u64> {
        &self.stored
    }

    /// Outcomes of the states, `[capacity, 3]`: residual, step, confidence.
    ///
    /// Unused places are unspecified.
    #[must_use]
    pub fn known(&self) -> &Q::Buf<f32> {
        &self.known
    }

    /// Forgets all states.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn clear(&mut self, q: &Q) -> Result<()> {
        Ok(q.clear(self.stored.view_mut())?)
    }

    /// Stores states, each in the place of the oldest.
    ///
    /// A state has a row of `features [count, width]` and of `outcomes [count, 3]` (residual, step,
    /// confidence).
    ///
    /// # Errors
    /// [`NnError::Rank`] or [`NnError::ShapeMismatch`] for tensors of other shapes and for more
    /// states than are kept, [`NnError::InvalidStride`] if they are not row-major,
    /// [`NnError::Backend`] from the device.
    pub fn store(&mut self, q: &Q, features: TensorRef<'_, Q, f32>, outcomes: TensorRef<'_, Q, f32>) -> Result<()> {
        const OP: &str = "store_states";
        let [count, _] = features.layout().lengths(OP, "features")?;
        if count > self.capacity {
            let (expected, got) = ([self.capacity, self.width], [count, self.width]);
            return Err(NnError::shape(OP, "features within the capacity,", expected, got));
        }
        let features = features.planned(OP, "features", &Layout::contiguous(&[count, self.width])?)?;
        let outcomes = outcomes.planned(OP, "outcomes", &Layout::contiguous(&[count, 3])?)?;
        let [capacity, width, count] = [self.capacity, self.width, count].map(|len| len as u64);
        Ok(q.store_states(StoreStates {
            params: &StoreParams { capacity, width, count },
            features,
            outcomes,
            states: self.states.view_mut(),
            norms: self.norms.view_mut(),
            known: self.known.view_mut(),
            stored: self.stored.view_mut(),
        })?)
    }

    /// Finds the nearest neighbours of each of `queries [queries, width]` among the states.
    ///
    /// Similarity is the cosine of the angle between query and state.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for queries of another shape,
    /// [`NnError::Backend`] from the device.
    pub fn similar(&self, q: &Q, queries: TensorRef<'_, Q, f32>, similar: &mut SimilarStates<Q>) -> Result<()> {
        let SimilarStates { queries: number, count, places, similarities } = similar;
        let queries = queries.planned("similar_states", "queries", &Layout::contiguous(&[*number, self.width])?)?;
        let [capacity, width, number, count] = [self.capacity, self.width, *number, *count].map(|len| len as u64);
        Ok(q.similar_states(Search {
            params: &SimilarParams { capacity, width, queries: number, count },
            states: self.states.view(),
            norms: self.norms.view(),
            stored: self.stored.view(),
            queries,
            places: places.view_mut(),
            similarities: similarities.view_mut(),
        })?)
    }
}

debug_fields!(ResidualStore<Q: Queue> capacity, width);

/// The results of a search, on a queue's device.
///
/// For each query they are the most similar states, in falling order, the oldest first among
/// equals, and states with NaN last.
pub struct SimilarStates<Q: Queue> {
    queries: usize,
    count: usize,
    places: Q::Buf<u32>,
    similarities: Q::Buf<f32>,
}

impl<Q: Queue> SimilarStates<Q> {
    /// Allocates memory for the `count` most similar states of each query.
    ///
    /// Its contents are unspecified before a search.
    ///
    /// # Errors
    /// [`NnError::Parameter`] for more than 32 states, [`NnError::Overflow`] if they cannot be
    /// counted, [`NnError::Backend`] if memory is short.
    pub fn new(q: &Q, queries: usize, count: usize) -> Result<Self> {
        const OP: &str = "similar_states";
        if count as u64 > MOST_SIMILAR {
            return Err(NnError::parameter(OP, "the number of similar states", "at most 32", count as f64));
        }
        let all = queries.checked_mul(count).ok_or(NnError::Overflow { op: OP })?;
        Ok(Self { queries, count, places: q.alloc(all)?, similarities: q.alloc(all)? })
    }

    /// Queries, and states of each.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.queries, self.count]
    }

    /// Where the states stand in the store, `[queries, count]`; `u32::MAX` where it has fewer.
    #[must_use]
    pub fn places(&self) -> &Q::Buf<u32> {
        &self.places
    }

    /// The cosines, `[queries, count]`.
    ///
    /// 0 for states or queries shorter than 1e-8, and for missing states.
    #[must_use]
    pub fn similarities(&self) -> &Q::Buf<f32> {
        &self.similarities
    }
}

debug_fields!(SimilarStates<Q: Queue> queries, count);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_and_searches_that_cannot_be_are_refused() {
        let q = runtime::cpu().unwrap();
        for capacity in [0, u32::MAX as usize, usize::MAX] {
            let refused = ResidualStore::new(&q, capacity, 2).err();
            assert!(matches!(refused, Some(NnError::Parameter { .. })), "{refused:?}");
        }
        assert_eq!(ResidualStore::new(&q, 8, usize::MAX).err(), Some(NnError::Overflow { op: OP }));
        assert!(SimilarStates::new(&q, 1, 32).is_ok());
        assert!(matches!(SimilarStates::new(&q, 1, 33), Err(NnError::Parameter { value: 33.0, .. })));
        let mut store = ResidualStore::new(&q, 2, 3).unwrap();
        let mut stored = |shape: &[usize], outcomes: usize| {
            let (features, known) = (q.zeros::<f32>(12).unwrap(), q.zeros::<f32>(12).unwrap());
            let features = TensorRef::contiguous(features.view(), shape)?;
            store.store(&q, features, TensorRef::contiguous(known.view(), &[outcomes, 3])?)
        };
        assert_eq!(stored(&[2, 3], 2), Ok(()));
        assert!(matches!(stored(&[3, 3], 3), Err(NnError::ShapeMismatch { .. })));
        assert!(matches!(stored(&[2, 2], 2), Err(NnError::ShapeMismatch { tensor: "features", .. })));
        assert!(matches!(stored(&[2, 3], 1), Err(NnError::ShapeMismatch { tensor: "outcomes", .. })));
        assert!(matches!(stored(&[6], 2), Err(NnError::Rank { expected: 2, got: 1, .. })));
    }
}
