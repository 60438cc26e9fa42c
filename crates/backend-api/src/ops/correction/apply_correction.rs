//! Corrections of predictions.

use core_types::params::correction::CorrectionParams;

use crate::{
    BackendError, BufferMut, Queue,
    ops::{Op, op},
};

op! {
    /// `y = p + c`, element by element, with a clamped correction c.
    ///
    /// `c` is `history a + model b`, clamped to within `limit |p|` of zero. NaN stays. No operation
    /// is fused, so results are the same to the bit on every backend.
    pub struct ApplyCorrection<'a, Q> as "apply_correction" {
        /// The factors.
        params: plain &'a CorrectionParams,
        /// The predictions, p.
        predictions: read f32,
        /// History estimates; same length as `predictions`.
        a: read f32,
        /// Model estimates; same length as `predictions`.
        b: read f32,
        /// The results; same length as `predictions`.
        y: write f32,
    }
}

impl<Q: Queue> ApplyCorrection<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CorrectionOps`](super::CorrectionOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.y.len(); 4])?;
        match self.params.fault() {
            Some(why) => Err(BackendError::Unsupported { op: Self::NAME, why }),
            None => Ok(()),
        }
    }
}
