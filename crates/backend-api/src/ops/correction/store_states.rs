//! States that are remembered.

use core_types::params::correction::StoreParams;

use crate::{
    BackendError, Queue,
    ops::{Op, linalg::shape::elements, op},
};

op! {
    /// Stores states in a ring, each in the place of the oldest, and counts them.
    ///
    /// State i is stored in place `(stored + i) mod capacity`.
    pub struct StoreStates<'a, Q> as "store_states" {
        /// Sizes. More states than the ring holds are refused, and so is a ring without places.
        params: plain &'a StoreParams,
        /// The features of the new states, `[count, width]`.
        features: read f32,
        /// Outcome of each state, `[count, 3]`: residual, step and confidence.
        ///
        /// The residual is observed less predicted. The confidence is the confidence of the
        /// prediction.
        outcomes: read f32,
        /// The features of the states in the ring, `[capacity, width]`.
        states: write f32,
        /// Their lengths, `[capacity]`.
        norms: write f32,
        /// The outcomes of the states in the ring, `[capacity, 3]`.
        known: write f32,
        /// How many states have ever been put in: one number.
        stored: write u64,
    }
}

impl<Q: Queue> StoreStates<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CorrectionOps`](super::CorrectionOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let StoreParams { capacity, width, count } = *self.params;
        let of = |rows, len| elements(&[rows, len]);
        let ring = [of(capacity, width), of(capacity, 1), of(capacity, 3)];
        self.expect([of(count, width), of(count, 3), ring[0], ring[1], ring[2], 1])?;
        let why = if capacity == 0 || capacity >= u64::from(u32::MAX) {
            "expected a ring capacity of 1..=2^32 - 2"
        } else if count > capacity {
            "more states than the capacity of the ring"
        } else {
            return Ok(());
        };
        Err(BackendError::Unsupported { op: Self::NAME, why })
    }
}
