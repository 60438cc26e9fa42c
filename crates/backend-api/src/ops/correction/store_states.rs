//! States that are remembered.

use core_types::params::correction::StoreParams;

use crate::ops::op;

op! {
    /// Stores states in a ring, each in the place of the oldest, and counts them.
    ///
    /// State i is stored in place `(stored + i) mod capacity`.
    pub struct StoreStates<'a, Q> as "store_states" {
        /// Sizes. More states than the ring holds are refused, and so is a ring without places.
        params: plain &'a StoreParams,
        /// The features of the new states.
        features: read f32 [count, width],
        /// Outcome of each state: residual, step and confidence.
        ///
        /// The residual is observed less predicted. The confidence is the confidence of the
        /// prediction.
        outcomes: read f32 [count, 3],
        /// The features of the states in the ring.
        states: write f32 [capacity, width],
        /// Their lengths.
        norms: write f32 [capacity],
        /// The outcomes of the states in the ring.
        known: write f32 [capacity, 3],
        /// How many states have ever been put in.
        stored: write u64 [1],
    }
    sizes(self) {
        let StoreParams { capacity, width, count } = *self.params;
    }
    valid(self) {
        (1..u64::from(u32::MAX)).contains(&capacity), "expected a ring capacity of 1..=2^32 - 2";
        count <= capacity, "more states than the capacity of the ring";
    }
}
