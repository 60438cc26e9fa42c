//! The states of a ring that are most like others.

use core_types::params::correction::{MOST_SIMILAR, SimilarParams};

use crate::ops::op;

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
        /// The features of the states in the ring.
        states: read f32 [capacity, width],
        /// The lengths of the states.
        norms: read f32 [capacity],
        /// How many states have ever been put into the ring.
        stored: read u64 [1],
        /// The features of each query.
        queries: read f32 [queries, width],
        /// The places of the neighbours.
        places: write u32 [queries, count],
        /// Their similarities.
        similarities: write f32 [queries, count],
    }
    sizes(self) {
        let SimilarParams { capacity, width, queries, count } = *self.params;
    }
    valid(self) {
        (1..u64::from(u32::MAX)).contains(&capacity), "expected a ring capacity of 1..=2^32 - 2";
        count <= MOST_SIMILAR, "expected at most 32 similar states per query";
    }
}
