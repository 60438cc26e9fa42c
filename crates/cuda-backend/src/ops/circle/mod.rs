//! The circle op set.

mod schedule;

use backend_api::{BackendError, Buffer, BufferMut, BufferRef, Queue, ops::circle::CircleOps};
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

/// Refuses a view whose length is not `columns * 2^log_len`.
fn expect_len(got: usize, columns: u32, log_len: u32) -> Result<(), BackendError> {
    let expected = (columns as usize).checked_shl(log_len).filter(|len| len >> log_len == columns as usize);
    match expected {
        Some(expected) if expected == got => Ok(()),
        _ => Err(BackendError::Length { expected: expected.unwrap_or(usize::MAX), got }),
    }
}

/// Refuses a log size that no domain has.
fn expect_domain(op: &'static str, log_size: u32) -> Result<(), BackendError> {
    if (1..=MAX_LOG_DOMAIN).contains(&log_size) {
        return Ok(());
    }
    Err(BackendError::Unsupported { op, why: "a circle domain has a log size of 1..=30" })
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

    /// Launches an inversion with a word for the index of the first zero, and waits for that word.
    fn batch_inverse(
        &self,
        op: &'static str,
        [elements, inverses]: [usize; 2],
        launch: impl FnOnce(&CudaMut<'_, u64>) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        if elements != inverses {
            return Err(BackendError::Length { expected: elements, got: inverses });
        }
        if elements == 0 {
            return Ok(());
        }
        let mut first_zero = self.upload(&[u64::MAX])?;
        launch(&first_zero.view_mut())?;
        match self.download(&first_zero)?[..] {
            [u64::MAX] => Ok(()),
            // an index of an element in memory
            [index] => Err(BackendError::Undefined { op, index: index as usize, why: "zero has no inverse" }),
            _ => unreachable!("one word was uploaded"),
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
        expect_domain("circle_twiddles", params.log_size)?;
        expect_len(twiddles.len(), 1, params.log_size - 1)?;
        expect_len(inverse_twiddles.len(), 1, params.log_size - 1)?;
        circle::twiddles(self, params, &twiddles, &inverse_twiddles)
    }

    fn circle_interpolate(
        &self,
        params: &CircleFftParams,
        inverse_twiddles: CudaRef<'_, Twiddle>,
        columns: CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let CircleFftParams { log_size, columns: count } = *params;
        expect_domain("circle_interpolate", log_size)?;
        expect_len(inverse_twiddles.len(), 1, log_size - 1)?;
        expect_len(columns.len(), count, log_size)?;
        if count == 0 {
            return Ok(());
        }
        if log_size <= LOG_SMALL {
            let params = CircleSmallParams { log_size, log_source: log_size, columns: count };
            return circle::small_interpolate(self, &params, &columns, inverse_twiddles);
        }
        let schedule = Schedule::new(log_size);
        // The last launch divides by 2^log_size: it rotates words of 31 bits.
        let scale = |last: bool| if last { (31 - log_size) % 31 } else { 0 };
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
        expect_domain("circle_evaluate", log_size)?;
        expect_len(twiddles.len(), 1, log_size - 1)?;
        expect_len(columns.len(), count, log_size)?;
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
        expect_domain("circle_extend", log_size)?;
        if log_coefficients > log_size {
            let why = "the domain is smaller than the polynomial";
            return Err(BackendError::Unsupported { op: "circle_extend", why });
        }
        expect_len(twiddles.len(), 1, log_size - 1)?;
        expect_len(coefficients.len(), count, log_coefficients)?;
        expect_len(values.len(), count, log_size)?;
        if count == 0 {
            return Ok(());
        }
        if log_size <= LOG_SMALL {
            let params = CircleSmallParams { log_size, log_source: log_coefficients, columns: count };
            return circle::small_evaluate(self, &params, coefficients, &values, twiddles);
        }
        self.circle_layers(log_size, log_coefficients, count, twiddles, Some(coefficients), &values)
    }

    fn circle_eval_at_point(
        &self,
        params: &CirclePointParams,
        coefficients: CudaRef<'_, M31>,
        results: CudaMut<'_, QM31>,
    ) -> Result<(), BackendError> {
        let CirclePointParams { log_size, columns: count, point } = *params;
        if log_size > MAX_LOG_DOMAIN {
            expect_domain("circle_eval_at_point", log_size)?;
        }
        expect_len(coefficients.len(), count, log_size)?;
        expect_len(results.len(), count, 0)?;
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

    fn batch_inverse_m31(&self, elements: CudaRef<'_, M31>, inverses: CudaMut<'_, M31>) -> Result<(), BackendError> {
        self.batch_inverse("batch_inverse_m31", [elements.len(), inverses.len()], |first_zero| {
            circle::inverse_m31(self, elements, &inverses, first_zero)
        })
    }

    fn batch_inverse_qm31(&self, elements: CudaRef<'_, QM31>, inverses: CudaMut<'_, QM31>) -> Result<(), BackendError> {
        self.batch_inverse("batch_inverse_qm31", [elements.len(), inverses.len()], |first_zero| {
            circle::inverse_qm31(self, elements, &inverses, first_zero)
        })
    }
}
