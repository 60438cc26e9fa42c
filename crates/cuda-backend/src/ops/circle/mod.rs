//! The circle op set.

mod points;
mod restrict;
mod schedule;

use backend_api::{
    BackendError, BufferMut, BufferRef,
    ops::circle::{
        BatchInverseM31, BatchInverseQm31, CircleEvalAtPoint, CircleEvalAtPoints, CircleEvaluate, CircleExtend,
        CircleInterpolate, CircleInterpolatePart, CircleLde, CircleRestrict, CircleTwiddles,
    },
};
use core_types::{
    field::{M31, Twiddle},
    params::circle::{CircleExtendParams, CircleFftParams, CirclePartParams, CircleSmallParams},
};

use self::{
    restrict::CoefficientSource,
    schedule::{DomainSpan, LayerSchedule},
};
use crate::checked::CircleOps;
use crate::{CudaMut, CudaQueue, CudaRef, launch::stark::circle};

/// Log of the largest domain whose layers have twiddles of their own kind.
const LOG_SMALL: u32 = 2;

/// Rotation, in bits, of words of 31 bits that divides them by `2^log_size`.
///
/// The last launch of an inverse transform applies it.
const fn division(log_size: u32) -> u32 {
    (31 - log_size) % 31
}

impl CudaQueue {
    /// Interpolates columns in place: from values to coefficients.
    ///
    /// The values are on the first `2^log_size` positions of a domain of `2^log_domain` points.
    fn circle_inverse_layers(
        &self,
        params: &CirclePartParams,
        inverse_twiddles: CudaRef<'_, Twiddle>,
        columns: &CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let CirclePartParams { log_size, log_domain, columns: count } = *params;
        if count == 0 {
            return Ok(());
        }
        if log_size <= LOG_SMALL {
            let params = CircleSmallParams { log_domain, log_size, log_source: log_size, columns: count, position: 0 };
            return circle::small_interpolate(self, &params, columns, inverse_twiddles);
        }
        let (schedule, span) = (LayerSchedule::new(log_size), DomainSpan::first(log_size, log_domain));
        let scale = |last: bool| if last { division(log_size) } else { 0 };
        let lowest = span.tiles(log_size, schedule.tiles, scale(schedule.strips.is_empty()), count);
        circle::tile_interpolate(self, &lowest, columns, inverse_twiddles)?;
        for (i, &strips) in schedule.strips.iter().enumerate() {
            let params = span.strips(strips, log_size, log_size, scale(i + 1 == schedule.strips.len()));
            circle::strip_interpolate(self, &params, count, columns, inverse_twiddles)?;
        }
        Ok(())
    }
}

impl CircleOps for CudaQueue {
    fn circle_twiddles(&self, op: CircleTwiddles<'_, Self>) -> Result<(), BackendError> {
        circle::twiddles(self, op.params, &op.twiddles, &op.inverse_twiddles)
    }

    fn circle_interpolate(&self, op: CircleInterpolate<'_, Self>) -> Result<(), BackendError> {
        let CircleInterpolate { params, inverse_twiddles, columns } = op;
        let CircleFftParams { log_size, columns: count } = *params;
        let whole = CirclePartParams { log_size, log_domain: log_size, columns: count };
        self.circle_inverse_layers(&whole, inverse_twiddles, &columns)
    }

    fn circle_evaluate(&self, op: CircleEvaluate<'_, Self>) -> Result<(), BackendError> {
        let CircleEvaluate { params, twiddles, columns } = op;
        let CircleFftParams { log_size, columns: count } = *params;
        if count == 0 {
            return Ok(());
        }
        self.circle_layers(DomainSpan::whole(log_size), log_size, count, twiddles, CoefficientSource::InPlace, &columns)
    }

    fn circle_extend(&self, op: CircleExtend<'_, Self>) -> Result<(), BackendError> {
        let CircleExtend { params, twiddles, coefficients, values } = op;
        let CircleExtendParams { log_coefficients, log_size, columns: count } = *params;
        if count == 0 {
            return Ok(());
        }
        let source = CoefficientSource::Columns(coefficients);
        self.circle_layers(DomainSpan::whole(log_size), log_coefficients, count, twiddles, source, &values)
    }

    fn circle_lde(&self, op: CircleLde<'_, Self>) -> Result<(), BackendError> {
        let CircleLde { params, inverse_twiddles, twiddles, mut columns, values } = op;
        let CircleExtendParams { log_coefficients: log_len, log_size, columns: count } = *params;
        let schedule = LayerSchedule::new(log_len);
        let [strips] = schedule.strips[..] else {
            let domain = CircleFftParams { log_size: log_len, columns: count };
            let lower = CircleInterpolate { params: &domain, inverse_twiddles, columns: columns.reborrow() };
            self.circle_interpolate(lower)?;
            return self.circle_extend(CircleExtend { params, twiddles, coefficients: columns.as_ref(), values });
        };
        if count == 0 {
            return Ok(());
        }
        let [small, large] = [log_len, log_size].map(DomainSpan::whole);
        circle::tile_interpolate(self, &small.tiles(log_len, schedule.tiles, 0, count), &columns, inverse_twiddles)?;
        let down = small.strips(strips, log_len, log_len, division(log_len));
        let up = large.strips(strips, log_len, log_len, 0);
        circle::strip_lde(self, [&down, &up], count, &columns, &values, [inverse_twiddles, twiddles])?;
        circle::tile_evaluate(self, &large.tiles(log_size, schedule.tiles, 0, count), &values, twiddles)
    }

    fn circle_eval_at_point(&self, op: CircleEvalAtPoint<'_, Self>) -> Result<(), BackendError> {
        self.evaluate_at_point(op)
    }

    fn circle_eval_at_points(&self, op: CircleEvalAtPoints<'_, Self>) -> Result<(), BackendError> {
        self.evaluate_at_points(op)
    }

    fn circle_interpolate_part(&self, op: CircleInterpolatePart<'_, Self>) -> Result<(), BackendError> {
        self.circle_inverse_layers(op.params, op.inverse_twiddles, &op.columns)
    }

    fn circle_restrict(&self, op: CircleRestrict<'_, Self>) -> Result<(), BackendError> {
        self.evaluate_block(op)
    }

    fn batch_inverse_m31(&self, op: BatchInverseM31<'_, Self>) -> Result<(), BackendError> {
        if op.elements.is_empty() {
            return Ok(());
        }
        circle::inverse_m31(self, op.elements, &op.inverses, &op.first_zero)
    }

    fn batch_inverse_qm31(&self, op: BatchInverseQm31<'_, Self>) -> Result<(), BackendError> {
        if op.elements.is_empty() {
            return Ok(());
        }
        circle::inverse_qm31(self, op.elements, &op.inverses, &op.first_zero)
    }
}
