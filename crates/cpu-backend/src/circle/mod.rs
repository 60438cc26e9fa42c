//! The circle op set on the processor.

mod coordinates;
mod extend;
pub(crate) mod inverse;
mod parts;
mod pass;
mod point;
mod samples;
pub(crate) mod scalar;
mod secure_inverse;
mod steps;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod transform;
mod twiddles;

use core::sync::atomic::{AtomicU64, Ordering};

use backend_api::{
    BackendError,
    ops::circle::{
        BatchInverseM31, BatchInverseQm31, CircleEvalAtPoint, CircleEvalAtPoints, CircleEvaluate, CircleExtend,
        CircleInterpolate, CircleInterpolatePart, CircleLde, CircleRestrict, CircleTwiddles,
    },
};
use core_types::{
    circle::CirclePoint,
    field::{Field, M31, QM31, Twiddle},
    params::columns::ColumnAt,
};

use self::{
    pass::Twiddles,
    samples::ColumnSample,
    steps::{StepRunner, log_block},
    transform::{GRAIN_WORDS, TransformRegion},
};
use crate::checked::CircleOps;
use crate::{CpuQueue, Simd};

/// A direction between coefficients and values.
#[derive(Clone, Copy)]
enum Direction {
    /// Coefficients to the values from `position` of the domain on.
    Evaluate { position: usize },
    /// Values on the first positions to coefficients.
    Interpolate,
}

impl CpuQueue {
    /// Transforms between coefficients and values on a domain, in either direction.
    ///
    /// The values are on `2^log_size` positions.
    ///
    /// The op has checked the number of twiddles of the domain.
    fn circle_transform(&self, log_size: u32, twiddles: &[Twiddle], columns: &mut [M31], direction: Direction) {
        if log_size < log_block(self.simd().log_width()) {
            let log_domain = log_domain(twiddles);
            self.for_chunks(columns, GRAIN_WORDS, |_, columns| {
                for column in columns.chunks_mut(1 << log_size) {
                    match direction {
                        Direction::Interpolate => scalar::interpolate(column, log_size, twiddles, log_domain),
                        Direction::Evaluate { position } => {
                            scalar::evaluate(column, log_size, position, twiddles, log_domain);
                        }
                    }
                }
            });
            return;
        }
        // SAFETY: the op has held the views to their lengths, and the position and the block to the domain.
        unsafe { self.transform_columns(self.simd(), log_size, twiddles, columns, direction) };
    }

    /// Transforms columns of at least one block by `steps`.
    ///
    /// # Safety
    /// `twiddles` belong to a domain that has `2^log_size` points from the direction's position on,
    /// and `columns` a multiple of `2^log_size` elements.
    unsafe fn transform_columns(
        &self,
        steps: impl StepRunner,
        log_size: u32,
        twiddles: &[Twiddle],
        columns: &mut [M31],
        direction: Direction,
    ) {
        let (inverse, position, scale) = match direction {
            Direction::Evaluate { position } => (false, position, 0),
            Direction::Interpolate => (true, 0, (31 - log_size) % 31), // dividing by 2^n rotates by 31 - n
        };
        let count = columns.len() >> log_size;
        let base = SharedPointer(columns.as_mut_ptr().cast::<u32>());
        // SAFETY: the view holds one twiddle per two points of the domain, doubled words in a transparent type.
        let twiddles = SharedPointer(unsafe { Twiddles::new(twiddles.as_ptr().cast(), log_domain(twiddles)) });
        let region = |column: usize| {
            // SAFETY: column < count, so its 2^log_size words lie in the view.
            let target = unsafe { base.get().add(column << log_size) };
            TransformRegion {
                source: target,
                target,
                log_len: log_size,
                position,
                twiddles: twiddles.get(),
                inverse,
                scale,
            }
        };
        // SAFETY: columns are disjoint parts of one exclusive view; canonical words stay canonical.
        unsafe { self.run_regions(steps, log_size, count, region) };
    }

    /// Inverts chunks of `chunk_len` by `invert`.
    fn batch_inverse<F: Field + Send + Sync>(
        &self,
        chunk_len: usize,
        invert: fn(Simd, &[F], &mut [F]) -> bool,
        elements: &[F],
        inverses: &mut [F],
        first_zero: &mut [u64],
    ) {
        let zero = AtomicU64::new(first_zero[0]);
        self.for_chunks(inverses, chunk_len, |i, chunk| {
            let start = i * chunk_len;
            let elements = &elements[start..start + chunk.len()];
            if !invert(self.simd(), elements, chunk)
                && let Some(index) = inverse::first_zero(elements)
            {
                zero.fetch_min((start + index) as u64, Ordering::Relaxed);
            }
        });
        first_zero[0] = zero.into_inner();
    }
}

impl CircleOps for CpuQueue {
    fn circle_twiddles(&self, op: CircleTwiddles<'_, Self>) -> Result<(), BackendError> {
        self.write_twiddles(op.params.log_size, op.twiddles, op.inverse_twiddles)
    }

    fn circle_interpolate(&self, op: CircleInterpolate<'_, Self>) -> Result<(), BackendError> {
        self.circle_transform(op.params.log_size, op.inverse_twiddles, op.columns, Direction::Interpolate);
        Ok(())
    }

    fn circle_evaluate(&self, op: CircleEvaluate<'_, Self>) -> Result<(), BackendError> {
        self.circle_transform(op.params.log_size, op.twiddles, op.columns, Direction::Evaluate { position: 0 });
        Ok(())
    }

    fn circle_extend(&self, op: CircleExtend<'_, Self>) -> Result<(), BackendError> {
        self.circle_extension(op.params, op.twiddles, op.coefficients, op.values);
        Ok(())
    }

    fn circle_lde(&self, op: CircleLde<'_, Self>) -> Result<(), BackendError> {
        self.circle_transform(op.params.log_coefficients, op.inverse_twiddles, op.columns, Direction::Interpolate);
        self.circle_extension(op.params, op.twiddles, op.columns, op.values);
        Ok(())
    }

    fn circle_eval_at_point(&self, op: CircleEvalAtPoint<'_, Self>) -> Result<(), BackendError> {
        let CircleEvalAtPoint { params, coefficients, results } = op;
        let samples: Vec<ColumnSample<'_>> =
            coefficients.chunks(1 << params.log_size).map(|column| ColumnSample { column, point: 0 }).collect();
        self.evaluate_samples(&[params.point], &samples, results)
    }

    fn circle_eval_at_points(&self, op: CircleEvalAtPoints<'_, Self>) -> Result<(), BackendError> {
        let CircleEvalAtPoints { columns, samples, coefficients, points, sampled } = op;
        let column = |at: &ColumnAt| &coefficients[at.first as usize..][..1 << at.log_len];
        let samples: Vec<ColumnSample<'_>> = samples
            .iter()
            .map(|sample| ColumnSample {
                column: column(&columns[sample.column as usize]),
                point: sample.point as usize,
            })
            .collect();
        let points: Vec<CirclePoint<QM31>> =
            points.chunks_exact(2).map(|point| CirclePoint { x: point[0], y: point[1] }).collect();
        self.evaluate_samples(&points, &samples, sampled)
    }

    fn circle_interpolate_part(&self, op: CircleInterpolatePart<'_, Self>) -> Result<(), BackendError> {
        self.circle_transform(op.params.log_size, op.inverse_twiddles, op.columns, Direction::Interpolate);
        Ok(())
    }

    fn circle_restrict(&self, op: CircleRestrict<'_, Self>) -> Result<(), BackendError> {
        let CircleRestrict { params, twiddles, coefficients, values } = op;
        if params.log_parts() == 0 {
            self.circle_copies(params, twiddles, coefficients, values);
            return Ok(());
        }
        self.circle_sums(params, twiddles, coefficients, values)
    }

    fn batch_inverse_m31(&self, op: BatchInverseM31<'_, Self>) -> Result<(), BackendError> {
        self.batch_inverse(inverse::CHUNK, inverse::invert_m31, op.elements, op.inverses, op.first_zero);
        Ok(())
    }

    fn batch_inverse_qm31(&self, op: BatchInverseQm31<'_, Self>) -> Result<(), BackendError> {
        self.batch_inverse(secure_inverse::CHUNK, secure_inverse::invert_qm31, op.elements, op.inverses, op.first_zero);
        Ok(())
    }
}

/// Log of the number of points of the domain with these twiddles.
fn log_domain(twiddles: &[Twiddle]) -> u32 {
    twiddles.len().ilog2() + 1
}

/// A pointer that the threads of one op share; they write disjoint words through it.
#[derive(Clone, Copy)]
struct SharedPointer<T>(T);

impl<T: Copy> SharedPointer<T> {
    fn get(&self) -> T {
        self.0
    }
}

// SAFETY: only `run_regions` uses the pointer, under its caller's promise of disjoint writes.
unsafe impl<T> Send for SharedPointer<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SharedPointer<T> {}
