//! Corrections of predictions in their place.

use core_types::params::correction::CorrectionParams;

use crate::{BufferMut, ops::op};

op! {
    /// [`ApplyCorrection`](super::ApplyCorrection), in the place of the predictions.
    pub struct ApplyCorrectionInPlace<'a, Q> as "apply_correction_in_place" {
        /// The factors.
        params: plain &'a CorrectionParams,
        /// History estimates.
        a: read f32 [len],
        /// Model estimates.
        b: read f32 [len],
        /// The predictions, which are corrected.
        predictions: write f32 [len],
    }
    sizes(self) {
        let len = self.predictions.len();
        let fault = self.params.fault();
    }
    valid(self) {
        fault.is_none(), fault.unwrap_or_default();
    }
}
