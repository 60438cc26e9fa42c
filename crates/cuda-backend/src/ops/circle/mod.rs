//! The circle op set.

mod schedule;

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef,
    ops::circle::{CircleOps, check_columns, check_domain, check_extension, check_inverse},
};
use core_types::{
    circle::{CirclePoint, MAX_LOG_DOMAIN, double_x},
    field::{M31, QM31, Twiddle},
    params::circle::{
        CircleExtendParams, CircleFftParams, CirclePointParams, CirclePointRangeParams, CircleSmallParams,
        CircleTwiddleParams,
    },
};

use self::schedule::{Schedule, log_range, tiles};
use crate::{CudaMut, CudaQueue, CudaRef, launch::circle};

/// Log of the largest domain whose layers have factors of their own kind.
const LOG_SMALL: u32 = 2;

/// The last launch of an inverse transform divides by `2^log_size`: it rotates words of 31 bits by so many.
const fn division(log_size: u32) -> u32 {
    (31 - log_size) % 31
}

impl CudaQueue {
    /// Runs all layers from coefficients of `2^log_len` on in place; the highest strips read `spread` instead, if given.
    fn circle_layers(
        &self,
        log_size: u32,
        log_len: u32,
        count: u32,
        twiddles: CudaRef<'_, Twiddle>,
        spread: Option<CudaRef<'_, M31>>,
        columns: &CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let schedule = Schedule::new(log_len);
        let mut spread = spread;
        for strips in schedule.strips.iter().rev() {
            let params = strips.params(log_size, log_len, 0, spread.is_some());
            let source = spread.take().unwrap_or_else(|| columns.as_ref());
            circle::strip_evaluate(self, &params, count, source, columns, twiddles)?;
        }
        match spread {
            Some(source) => {
                let params = tiles(log_size, log_len, schedule.tiles, 0, count);
                circle::tile_extend(self, &params, source, columns, twiddles)
            }
            None => {
                let params = tiles(log_size, log_size, schedule.tiles, 0, count);
                circle::tile_evaluate(self, &params, columns, twiddles)
            }
        }
    }
}

/// The factors of the bits of a coefficient's index: `y, x, pi(x), pi(pi(x)), ...`
fn basis_factors(point: CirclePoint<QM31>) -> [QM31; CirclePointRangeParams::FACTORS] {
    let mut factors = [point.y; CirclePointRangeParams::FACTORS];
    let mut x = point.x;
    for factor in &mut factors[1..] {
        *factor = x;
        x = double_x(x);
    }
    factors
}

impl CircleOps for CudaQueue {
    fn circle_twiddles(
        &self,
        params: &CircleTwiddleParams,
        twiddles: CudaMut<'_, Twiddle>,
        inverse_twiddles: CudaMut<'_, Twiddle>,
    ) -> Result<(), BackendError> {
        check_domain("circle_twiddles", params.log_size)?;
        check_columns(twiddles.len(), 1, params.log_size - 1)?;
        check_columns(inverse_twiddles.len(), 1, params.log_size - 1)?;
        circle::twiddles(self, params, &twiddles, &inverse_twiddles)
    }

    fn circle_interpolate(
        &self,
        params: &CircleFftParams,
        inverse_twiddles: CudaRef<'_, Twiddle>,
        columns: CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let CircleFftParams { log_size, columns: count } = *params;
        check_domain("circle_interpolate", log_size)?;
        check_columns(inverse_twiddles.len(), 1, log_size - 1)?;
        check_columns(columns.len(), count, log_size)?;
        if count == 0 {
            return Ok(());
        }
        if log_size <= LOG_SMALL {
            let params = CircleSmallParams { log_size, log_source: log_size, columns: count };
            return circle::small_interpolate(self, &params, &columns, inverse_twiddles);
        }
        let schedule = Schedule::new(log_size);
        let scale = |last: bool| if last { division(log_size) } else { 0 };
        let params = tiles(log_size, log_size, schedule.tiles, scale(schedule.strips.is_empty()), count);
        circle::tile_interpolate(self, &params, &columns, inverse_twiddles)?;
        for (i, strips) in schedule.strips.iter().enumerate() {
            let params = strips.params(log_size, log_size, scale(i + 1 == schedule.strips.len()), false);
            circle::strip_interpolate(self, &params, count, &columns, inverse_twiddles)?;
        }
        Ok(())
    }

    fn circle_evaluate(
        &self,
        params: &CircleFftParams,
        twiddles: CudaRef<'_, Twiddle>,
        columns: CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let CircleFftParams { log_size, columns: count } = *params;
        check_domain("circle_evaluate", log_size)?;
        check_columns(twiddles.len(), 1, log_size - 1)?;
        check_columns(columns.len(), count, log_size)?;
        if count == 0 {
            return Ok(());
        }
        if log_size <= LOG_SMALL {
            let params = CircleSmallParams { log_size, log_source: log_size, columns: count };
            return circle::small_evaluate(self, &params, columns.as_ref(), &columns, twiddles);
        }
        self.circle_layers(log_size, log_size, count, twiddles, None, &columns)
    }

    fn circle_extend(
        &self,
        params: &CircleExtendParams,
        twiddles: CudaRef<'_, Twiddle>,
        coefficients: CudaRef<'_, M31>,
        values: CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let CircleExtendParams { log_coefficients, log_size, columns: count } = *params;
        check_extension("circle_extend", params, twiddles.len(), coefficients.len(), values.len())?;
        if count == 0 {
            return Ok(());
        }
        if log_size <= LOG_SMALL {
            let params = CircleSmallParams { log_size, log_source: log_coefficients, columns: count };
            return circle::small_evaluate(self, &params, coefficients, &values, twiddles);
        }
        self.circle_layers(log_size, log_coefficients, count, twiddles, Some(coefficients), &values)
    }

    fn circle_lde(
        &self,
        params: &CircleExtendParams,
        inverse_twiddles: CudaRef<'_, Twiddle>,
        twiddles: CudaRef<'_, Twiddle>,
        mut columns: CudaMut<'_, M31>,
        values: CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let CircleExtendParams { log_coefficients: log_len, log_size, columns: count } = *params;
        check_extension("circle_lde", params, twiddles.len(), columns.len(), values.len())?;
        check_domain("circle_lde", log_len)?;
        check_columns(inverse_twiddles.len(), 1, log_len - 1)?;
        let schedule = Schedule::new(log_len);
        let [strips] = schedule.strips[..] else {
            let domain = CircleFftParams { log_size: log_len, columns: count };
            self.circle_interpolate(&domain, inverse_twiddles, columns.reborrow())?;
            return self.circle_extend(params, twiddles, columns.as_ref(), values);
        };
        if count == 0 {
            return Ok(());
        }
        let lower = tiles(log_len, log_len, schedule.tiles, 0, count);
        circle::tile_interpolate(self, &lower, &columns, inverse_twiddles)?;
        let both =
            [&strips.params(log_len, log_len, division(log_len), false), &strips.params(log_size, log_len, 0, true)];
        circle::strip_lde(self, both, count, &columns, &values, [inverse_twiddles, twiddles])?;
        let lower = tiles(log_size, log_size, schedule.tiles, 0, count);
        circle::tile_evaluate(self, &lower, &values, twiddles)
    }

    fn circle_eval_at_point(
        &self,
        params: &CirclePointParams,
        coefficients: CudaRef<'_, M31>,
        results: CudaMut<'_, QM31>,
    ) -> Result<(), BackendError> {
        let CirclePointParams { log_size, columns: count, point } = *params;
        if log_size > MAX_LOG_DOMAIN {
            check_domain("circle_eval_at_point", log_size)?;
        }
        check_columns(coefficients.len(), count, log_size)?;
        check_columns(results.len(), count, 0)?;
        let log_range = log_range(log_size, count);
        let params = CirclePointRangeParams { log_size, log_range, factors: basis_factors(point) };
        if log_range == log_size {
            return circle::point_ranges(self, &params, count, coefficients, &results);
        }
        let ranges = 1 << (log_size - log_range);
        let mut sums = self.scratch::<QM31>(count as usize * ranges)?;
        circle::point_ranges(self, &params, count, coefficients, &sums.view_mut())?;
        circle::point_sums(self, sums.view(), &results, ranges as u32)
    }

    fn batch_inverse_m31(
        &self,
        elements: CudaRef<'_, M31>,
        inverses: CudaMut<'_, M31>,
        first_zero: CudaMut<'_, u64>,
    ) -> Result<(), BackendError> {
        check_inverse(elements.len(), inverses.len(), first_zero.len())?;
        if elements.is_empty() {
            return Ok(());
        }
        circle::inverse_m31(self, elements, &inverses, &first_zero)
    }

    fn batch_inverse_qm31(
        &self,
        elements: CudaRef<'_, QM31>,
        inverses: CudaMut<'_, QM31>,
        first_zero: CudaMut<'_, u64>,
    ) -> Result<(), BackendError> {
        check_inverse(elements.len(), inverses.len(), first_zero.len())?;
        if elements.is_empty() {
            return Ok(());
        }
        circle::inverse_qm31(self, elements, &inverses, &first_zero)
    }
}
