use backend_api::{BackendError, ops::circle::CircleOps};
use core_types::{
    field::{M31, QM31, Twiddle},
    params::circle::{CircleExtendParams, CircleFftParams, CirclePointParams, CircleTwiddleParams},
};

use super::{AnyMut, AnyQueue, AnyRef};

impl CircleOps for AnyQueue {
    fn circle_twiddles(
        &self,
        params: &CircleTwiddleParams,
        twiddles: AnyMut<'_, Twiddle>,
        inverse_twiddles: AnyMut<'_, Twiddle>,
    ) -> Result<(), BackendError> {
        match (self, twiddles, inverse_twiddles) {
            (Self::Cpu(q), AnyMut::Cpu(twiddles), AnyMut::Cpu(inverse)) => q.circle_twiddles(params, twiddles, inverse),
        }
    }

    fn circle_interpolate(
        &self,
        params: &CircleFftParams,
        inverse_twiddles: AnyRef<'_, Twiddle>,
        columns: AnyMut<'_, M31>,
    ) -> Result<(), BackendError> {
        match (self, inverse_twiddles, columns) {
            (Self::Cpu(q), AnyRef::Cpu(inverse), AnyMut::Cpu(columns)) => {
                q.circle_interpolate(params, inverse, columns)
            }
        }
    }

    fn circle_evaluate(
        &self,
        params: &CircleFftParams,
        twiddles: AnyRef<'_, Twiddle>,
        columns: AnyMut<'_, M31>,
    ) -> Result<(), BackendError> {
        match (self, twiddles, columns) {
            (Self::Cpu(q), AnyRef::Cpu(twiddles), AnyMut::Cpu(columns)) => q.circle_evaluate(params, twiddles, columns),
        }
    }

    fn circle_extend(
        &self,
        params: &CircleExtendParams,
        twiddles: AnyRef<'_, Twiddle>,
        coefficients: AnyRef<'_, M31>,
        values: AnyMut<'_, M31>,
    ) -> Result<(), BackendError> {
        match (self, twiddles, coefficients, values) {
            (Self::Cpu(q), AnyRef::Cpu(twiddles), AnyRef::Cpu(coefficients), AnyMut::Cpu(values)) => {
                q.circle_extend(params, twiddles, coefficients, values)
            }
        }
    }

    fn circle_eval_at_point(
        &self,
        params: &CirclePointParams,
        coefficients: AnyRef<'_, M31>,
        results: AnyMut<'_, QM31>,
    ) -> Result<(), BackendError> {
        match (self, coefficients, results) {
            (Self::Cpu(q), AnyRef::Cpu(coefficients), AnyMut::Cpu(results)) => {
                q.circle_eval_at_point(params, coefficients, results)
            }
        }
    }

    fn batch_inverse_m31(&self, elements: AnyRef<'_, M31>, inverses: AnyMut<'_, M31>) -> Result<(), BackendError> {
        match (self, elements, inverses) {
            (Self::Cpu(q), AnyRef::Cpu(elements), AnyMut::Cpu(inverses)) => q.batch_inverse_m31(elements, inverses),
        }
    }

    fn batch_inverse_qm31(&self, elements: AnyRef<'_, QM31>, inverses: AnyMut<'_, QM31>) -> Result<(), BackendError> {
        match (self, elements, inverses) {
            (Self::Cpu(q), AnyRef::Cpu(elements), AnyMut::Cpu(inverses)) => q.batch_inverse_qm31(elements, inverses),
        }
    }
}
