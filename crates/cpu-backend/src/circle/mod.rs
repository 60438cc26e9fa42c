//! The circle op set on the processor.

mod inverse;
mod kernels;
mod lanes;
mod pass;
mod point;
mod scalar;
#[cfg(test)]
mod tests;
mod transform;
mod twiddles;

use core::sync::atomic::{AtomicU64, Ordering};

use backend_api::{
    BackendError,
    ops::circle::{CircleOps, check_columns, check_domain, check_extension, check_inverse},
};
use core_types::{
    circle::MAX_LOG_DOMAIN,
    field::{Field, M31, QM31, Twiddle},
    params::circle::{CircleExtendParams, CircleFftParams, CirclePointParams, CircleTwiddleParams},
};

use self::{kernels::Kernels, pass::Factors, point::Basis, transform::Region};
use crate::CpuQueue;

impl CpuQueue {
    /// Both directions between values and coefficients.
    fn circle_transform(
        &self,
        op: &'static str,
        params: &CircleFftParams,
        factors: &[Twiddle],
        columns: &mut [M31],
        inverse: bool,
    ) -> Result<(), BackendError> {
        let log_size = params.log_size;
        check_domain(op, log_size)?;
        check_columns(factors.len(), 1, log_size - 1)?;
        check_columns(columns.len(), params.columns, log_size)?;
        let kernels = Kernels::of(self.simd().level());
        if log_size < kernels.log_block {
            self.for_chunks(columns, 1 << 15, |_, columns| {
                for column in columns.chunks_mut(1 << log_size) {
                    if inverse {
                        scalar::interpolate(column, factors, log_size);
                    } else {
                        scalar::evaluate(column, log_size, 0, factors, log_size);
                    }
                }
            });
            return Ok(());
        }
        // SAFETY: this processor has the queue's level, whose kernels these are.
        unsafe { self.transform_columns(kernels, log_size, factors, columns, inverse) };
        Ok(())
    }

    /// Transforms columns of at least one block by `kernels`.
    ///
    /// # Safety
    /// The processor can run `kernels`; `factors` are `2^(log_size - 1)`, `columns` a multiple of `2^log_size` elements.
    unsafe fn transform_columns(
        &self,
        kernels: Kernels,
        log_size: u32,
        factors: &[Twiddle],
        columns: &mut [M31],
        inverse: bool,
    ) {
        let count = columns.len() >> log_size;
        let base = Shared(columns.as_mut_ptr().cast::<u32>());
        // SAFETY: the view holds 2^(log_size - 1) factors, doubled words in a transparent type.
        let factors = Shared(unsafe { Factors::new(factors.as_ptr().cast(), log_size) });
        let region = |column: usize| {
            // SAFETY: column < count, so its 2^log_size words lie in the view.
            let target = unsafe { base.get().add(column << log_size) };
            Region {
                source: target,
                target,
                log_len: log_size,
                position: 0,
                factors: factors.get(),
                inverse,
                scale: if inverse { (31 - log_size) % 31 } else { 0 }, // dividing by 2^n rotates by 31 - n
            }
        };
        // SAFETY: columns are disjoint parts of one exclusive view; canonical words stay canonical.
        unsafe { self.run_regions(kernels, log_size, count, region) };
    }

    fn batch_inverse<F: Field + Send + Sync>(
        &self,
        elements: &[F],
        inverses: &mut [F],
        first_zero: &mut [u64],
    ) -> Result<(), BackendError> {
        check_inverse(elements.len(), inverses.len(), first_zero.len())?;
        let zero = AtomicU64::new(first_zero[0]);
        self.for_chunks(inverses, inverse::CHUNK, |i, chunk| {
            let start = i * inverse::CHUNK;
            let elements = &elements[start..start + chunk.len()];
            if !inverse::invert_chunk(self.simd(), elements, chunk)
                && let Some(index) = inverse::first_zero(elements)
            {
                zero.fetch_min((start + index) as u64, Ordering::Relaxed);
            }
        });
        first_zero[0] = zero.into_inner();
        Ok(())
    }
}

impl CircleOps for CpuQueue {
    fn circle_twiddles(
        &self,
        params: &CircleTwiddleParams,
        twiddles: &mut [Twiddle],
        inverse_twiddles: &mut [Twiddle],
    ) -> Result<(), BackendError> {
        check_domain("circle_twiddles", params.log_size)?;
        check_columns(twiddles.len(), 1, params.log_size - 1)?;
        check_columns(inverse_twiddles.len(), 1, params.log_size - 1)?;
        let _scratch = self.reserve_scratch::<[M31; 2]>(1, twiddles.len())?;
        twiddles::fill(self.simd(), params.log_size, twiddles, inverse_twiddles);
        Ok(())
    }

    fn circle_interpolate(
        &self,
        params: &CircleFftParams,
        inverse_twiddles: &[Twiddle],
        columns: &mut [M31],
    ) -> Result<(), BackendError> {
        self.circle_transform("circle_interpolate", params, inverse_twiddles, columns, true)
    }

    fn circle_evaluate(
        &self,
        params: &CircleFftParams,
        twiddles: &[Twiddle],
        columns: &mut [M31],
    ) -> Result<(), BackendError> {
        self.circle_transform("circle_evaluate", params, twiddles, columns, false)
    }

    fn circle_extend(
        &self,
        params: &CircleExtendParams,
        twiddles: &[Twiddle],
        coefficients: &[M31],
        values: &mut [M31],
    ) -> Result<(), BackendError> {
        let CircleExtendParams { log_coefficients: log_len, log_size, columns } = *params;
        check_extension("circle_extend", params, twiddles.len(), coefficients.len(), values.len())?;
        let log_copies = log_size - log_len;
        let kernels = Kernels::of(self.simd().level());
        if log_len < kernels.log_block {
            self.for_chunks(values, 1 << log_size, |column, values| {
                let coefficients = &coefficients[column << log_len..(column + 1) << log_len];
                for (copy, values) in values.chunks_mut(1 << log_len).enumerate() {
                    values.copy_from_slice(coefficients);
                    scalar::evaluate(values, log_len, copy << log_len, twiddles, log_size);
                }
            });
            return Ok(());
        }
        let source = Shared(coefficients.as_ptr().cast::<u32>());
        let base = Shared(values.as_mut_ptr().cast::<u32>());
        // SAFETY: the view holds 2^(log_size - 1) factors, doubled words in a transparent type.
        let factors = Shared(unsafe { Factors::new(twiddles.as_ptr().cast(), log_size) });
        let region = |i: usize| {
            let (column, copy) = (i >> log_copies, i & ((1 << log_copies) - 1));
            // SAFETY: column < columns and copy < 2^log_copies, so the words lie in the views.
            let (source, target) = unsafe { (source.get().add(column << log_len), base.get().add(i << log_len)) };
            Region {
                source,
                target,
                log_len,
                position: copy << log_len,
                factors: factors.get(),
                inverse: false,
                scale: 0,
            }
        };
        // SAFETY: this processor has the queue's level; copies are disjoint parts of one exclusive view, and the coefficients are another view.
        unsafe { self.run_regions(kernels, log_len, (columns as usize) << log_copies, region) };
        Ok(())
    }

    fn circle_lde(
        &self,
        params: &CircleExtendParams,
        inverse_twiddles: &[Twiddle],
        twiddles: &[Twiddle],
        columns: &mut [M31],
        values: &mut [M31],
    ) -> Result<(), BackendError> {
        check_extension("circle_lde", params, twiddles.len(), columns.len(), values.len())?;
        let domain = CircleFftParams { log_size: params.log_coefficients, columns: params.columns };
        self.circle_transform("circle_lde", &domain, inverse_twiddles, columns, true)?;
        self.circle_extend(params, twiddles, columns, values)
    }

    fn circle_eval_at_point(
        &self,
        params: &CirclePointParams,
        coefficients: &[M31],
        results: &mut [QM31],
    ) -> Result<(), BackendError> {
        if params.log_size > MAX_LOG_DOMAIN {
            check_domain("circle_eval_at_point", params.log_size)?;
        }
        check_columns(coefficients.len(), params.columns, params.log_size)?;
        check_columns(results.len(), params.columns, 0)?;
        let basis = Basis::new(params.point, params.log_size);
        let columns_per_job = ((1usize << 14) >> params.log_size).max(1);
        self.for_chunks(results, columns_per_job, |i, results| {
            let columns = coefficients.chunks(1 << params.log_size).skip(i * columns_per_job);
            for (result, column) in results.iter_mut().zip(columns) {
                *result = basis.evaluate(column);
            }
        });
        Ok(())
    }

    fn batch_inverse_m31(
        &self,
        elements: &[M31],
        inverses: &mut [M31],
        first_zero: &mut [u64],
    ) -> Result<(), BackendError> {
        self.batch_inverse(elements, inverses, first_zero)
    }

    fn batch_inverse_qm31(
        &self,
        elements: &[QM31],
        inverses: &mut [QM31],
        first_zero: &mut [u64],
    ) -> Result<(), BackendError> {
        self.batch_inverse(elements, inverses, first_zero)
    }
}

/// A pointer that the threads of one op share; they write disjoint words behind it.
#[derive(Clone, Copy)]
struct Shared<T>(T);

impl<T: Copy> Shared<T> {
    fn get(&self) -> T {
        self.0
    }
}

// SAFETY: only `run_regions` uses the pointer, under its caller's promise of disjoint writes.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}
