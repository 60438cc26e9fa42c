//! Corrections of predictions.

use core_types::params::correction::CorrectionParams;

use crate::{BufferMut, ops::op};

op! {
    /// `y = p + c`, element by element, with a clamped correction c.
    ///
    /// `c` is `history a + model b`, clamped to within `limit |p|` of zero. NaN stays. No operation
    /// is fused, so results are the same to the bit on every backend.
    pub struct ApplyCorrection<'a, Q> as "apply_correction" {
        /// The factors.
        params: plain &'a CorrectionParams,
        /// The predictions, p.
        predictions: read f32 [len],
        /// History estimates.
        a: read f32 [len],
        /// Model estimates.
        b: read f32 [len],
        /// The results.
        y: write f32 [len],
    }
    sizes(self) {
        let len = self.y.len();
        let fault = self.params.fault();
    }
    valid(self) {
        fault.is_none(), fault.unwrap_or_default();
    }
}
