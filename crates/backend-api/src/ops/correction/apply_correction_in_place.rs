//! Corrections of predictions in their place.

use core_types::params::correction::CorrectionParams;

use crate::{
    BackendError, BufferMut, Queue,
    ops::{Op, op},
};

op! {
    /// [`ApplyCorrection`](super::ApplyCorrection), in the place of the predictions.
    pub struct ApplyCorrectionInPlace<'a, Q> as "apply_correction_in_place" {
        /// The factors.
        params: plain &'a CorrectionParams,
        /// History estimates; same length as `predictions`.
        a: read f32,
        /// Model estimates; same length as `predictions`.
        b: read f32,
        /// The predictions, which are corrected.
        predictions: write f32,
    }
}

impl<Q: Queue> ApplyCorrectionInPlace<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CorrectionOps`](super::CorrectionOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.predictions.len(); 3])?;
        match self.params.fault() {
            Some(why) => Err(BackendError::Unsupported { op: Self::NAME, why }),
            None => Ok(()),
        }
    }
}
