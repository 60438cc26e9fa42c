use backend_api::{BackendError, ops::circle::CircleOps};
use core_types::{
    field::{M31, QM31, Twiddle},
    params::circle::{CircleExtendParams, CircleFftParams, CirclePointParams, CircleTwiddleParams},
};

use super::{AnyMut, AnyQueue, AnyRef, dispatch};

impl CircleOps for AnyQueue {
    fn circle_twiddles(
        &self,
        params: &CircleTwiddleParams,
        twiddles: AnyMut<'_, Twiddle>,
        inverse_twiddles: AnyMut<'_, Twiddle>,
    ) -> Result<(), BackendError> {
        dispatch!(self.circle_twiddles(params; twiddles: AnyMut, inverse_twiddles: AnyMut))
    }

    fn circle_interpolate(
        &self,
        params: &CircleFftParams,
        inverse_twiddles: AnyRef<'_, Twiddle>,
        columns: AnyMut<'_, M31>,
    ) -> Result<(), BackendError> {
        dispatch!(self.circle_interpolate(params; inverse_twiddles: AnyRef, columns: AnyMut))
    }

    fn circle_evaluate(
        &self,
        params: &CircleFftParams,
        twiddles: AnyRef<'_, Twiddle>,
        columns: AnyMut<'_, M31>,
    ) -> Result<(), BackendError> {
        dispatch!(self.circle_evaluate(params; twiddles: AnyRef, columns: AnyMut))
    }

    fn circle_extend(
        &self,
        params: &CircleExtendParams,
        twiddles: AnyRef<'_, Twiddle>,
        coefficients: AnyRef<'_, M31>,
        values: AnyMut<'_, M31>,
    ) -> Result<(), BackendError> {
        dispatch!(self.circle_extend(params; twiddles: AnyRef, coefficients: AnyRef, values: AnyMut))
    }

    fn circle_lde(
        &self,
        params: &CircleExtendParams,
        inverse_twiddles: AnyRef<'_, Twiddle>,
        twiddles: AnyRef<'_, Twiddle>,
        columns: AnyMut<'_, M31>,
        values: AnyMut<'_, M31>,
    ) -> Result<(), BackendError> {
        dispatch!(self.circle_lde(
            params; inverse_twiddles: AnyRef, twiddles: AnyRef, columns: AnyMut, values: AnyMut
        ))
    }

    fn circle_eval_at_point(
        &self,
        params: &CirclePointParams,
        coefficients: AnyRef<'_, M31>,
        results: AnyMut<'_, QM31>,
    ) -> Result<(), BackendError> {
        dispatch!(self.circle_eval_at_point(params; coefficients: AnyRef, results: AnyMut))
    }

    fn batch_inverse_m31(
        &self,
        elements: AnyRef<'_, M31>,
        inverses: AnyMut<'_, M31>,
        first_zero: AnyMut<'_, u64>,
    ) -> Result<(), BackendError> {
        dispatch!(self.batch_inverse_m31(; elements: AnyRef, inverses: AnyMut, first_zero: AnyMut))
    }

    fn batch_inverse_qm31(
        &self,
        elements: AnyRef<'_, QM31>,
        inverses: AnyMut<'_, QM31>,
        first_zero: AnyMut<'_, u64>,
    ) -> Result<(), BackendError> {
        dispatch!(self.batch_inverse_qm31(; elements: AnyRef, inverses: AnyMut, first_zero: AnyMut))
    }
}
