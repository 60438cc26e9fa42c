//! Corrections of predictions.

use core_types::params::correction::CorrectionParams;

use crate::{
    BackendError, BufferMut, Queue,
    ops::{Op, op},
};

op! {
    /// `y = p + c`, element by element, where c is `history a + model b`, held within `limit |p|` of zero. NaN stays. No operation is
    /// fused, so that the bits are those of any backend.
    pub struct ApplyCorrection<'a, Q> as "apply_correction" {
        /// The factors.
        params: plain &'a CorrectionParams,
        /// The predictions, p.
        predictions: read f32,
        /// As many.
        a: read f32,
        /// As many.
        b: read f32,
        /// As many.
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
