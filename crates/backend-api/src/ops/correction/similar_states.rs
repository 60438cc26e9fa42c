//! The states of a ring that are most like others.

use core_types::params::correction::{MOST_SIMILAR, SimilarParams};

use crate::{
    BackendError, Queue,
    ops::{Op, linalg::shape::elements, op},
};

op! {
    /// Finds the nearest neighbours of each query among the states of a ring.
    ///
    /// Places are ordered by falling similarity, equal ones from the oldest state on, NaN last. The
    /// similarity is the cosine of the angle between two states: their scalar product divided by
    /// the product of their lengths, or 0 if a length is below 1e-8. If the ring has fewer states
    /// than requested, the other places are [`NO_STATE`](core_types::params::correction::NO_STATE),
    /// with a similarity of 0.
    ///
    /// Scalar products are sums of f32 that do not depend on the other states.
    pub struct SimilarStates<'a, Q> as "similar_states" {
        /// Sizes. A ring without places and more than 32 similar states are refused.
        params: plain &'a SimilarParams,
        /// `[capacity, width]`.
        states: read f32,
        /// The lengths of the states, `[capacity]`.
        norms: read f32,
        /// How many states have ever been put into the ring: one number.
        stored: read u64,
        /// `[queries, width]`.
        queries: read f32,
        /// `[queries, count]`.
        places: write u32,
        /// `[queries, count]`.
        similarities: write f32,
    }
}

impl<Q: Queue> SimilarStates<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CorrectionOps`](super::CorrectionOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let SimilarParams { capacity, width, queries, count } = *self.params;
        let of = |rows, len| elements(&[rows, len]);
        let found = of(queries, count);
        self.expect([of(capacity, width), of(capacity, 1), 1, of(queries, width), found, found])?;
        let why = if capacity == 0 || capacity >= u64::from(u32::MAX) {
            "expected a ring capacity of 1..=2^32 - 2"
        } else if count > MOST_SIMILAR {
            "expected at most 32 similar states per query"
        } else {
            return Ok(());
        };
        Err(BackendError::Unsupported { op: Self::NAME, why })
    }
}
