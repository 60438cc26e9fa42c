//! From coefficients to values on a whole domain or on a block of it.
//!
//! The top layers of a low-degree extension see zeros and copy the `2^m` coefficients. Copy `q` is
//! then their transform by layers `m-1 .. 0` at the positions from `q 2^m` on.

use backend_api::BackendError;
use core_types::{
    field::{M31, Twiddle},
    params::circle::{CircleExtendParams, CircleRestrictParams},
};

use super::{
    Direction, SharedPointer, parts,
    pass::Twiddles,
    scalar,
    steps::{StepRunner as _, log_block},
    transform::TransformRegion,
};
use crate::CpuQueue;

impl CpuQueue {
    /// From coefficients to the values on a domain at least as large, whose op was checked.
    pub(super) fn circle_extension(
        &self,
        params: &CircleExtendParams,
        twiddles: &[Twiddle],
        coefficients: &[M31],
        values: &mut [M31],
    ) {
        let CircleExtendParams { log_coefficients, log_size, columns } = *params;
        let whole =
            CircleRestrictParams { log_coefficients, log_domain: log_size, log_block: log_size, block: 0, columns };
        self.circle_copies(&whole, twiddles, coefficients, values);
    }

    /// From coefficients to the values on a block at least as large, whose op was checked.
    pub(super) fn circle_copies(
        &self,
        params: &CircleRestrictParams,
        twiddles: &[Twiddle],
        coefficients: &[M31],
        values: &mut [M31],
    ) {
        let CircleRestrictParams { log_coefficients: log_len, log_domain, log_block: log_values, columns, .. } =
            *params;
        let (log_copies, position) = (log_values - log_len, params.position() as usize);
        // Columns of less than a block are evaluated word by word.
        if log_len < log_block(self.simd().log_width()) {
            self.for_chunks(values, 1 << log_values, |column, values| {
                let coefficients = &coefficients[column << log_len..(column + 1) << log_len];
                for (copy, values) in values.chunks_mut(1 << log_len).enumerate() {
                    values.copy_from_slice(coefficients);
                    scalar::evaluate(values, log_len, position + (copy << log_len), twiddles, log_domain);
                }
            });
            return;
        }
        // Each copy is a region that reads the coefficients.
        let source = SharedPointer(coefficients.as_ptr().cast::<u32>());
        let base = SharedPointer(values.as_mut_ptr().cast::<u32>());
        // SAFETY: the view holds 2^(log_domain - 1) twiddles, doubled words in a transparent type.
        let twiddles = SharedPointer(unsafe { Twiddles::new(twiddles.as_ptr().cast(), log_domain) });
        let region = |i: usize| {
            let (column, copy) = (i >> log_copies, i & ((1 << log_copies) - 1));
            // SAFETY: column < columns and copy < 2^log_copies, so the words lie in the views.
            let (source, target) = unsafe { (source.get().add(column << log_len), base.get().add(i << log_len)) };
            TransformRegion {
                source,
                target,
                log_len,
                position: position + (copy << log_len),
                twiddles: twiddles.get(),
                inverse: false,
                scale: 0,
            }
        };
        // SAFETY: copies are disjoint parts of one exclusive view, and the coefficients are another view.
        unsafe { self.run_regions(self.simd(), log_len, (columns as usize) << log_copies, region) };
    }

    /// From coefficients to the values on a block that is smaller, whose op was checked.
    pub(super) fn circle_sums(
        &self,
        params: &CircleRestrictParams,
        twiddles: &[Twiddle],
        coefficients: &[M31],
        values: &mut [M31],
    ) -> Result<(), BackendError> {
        let CircleRestrictParams { log_coefficients, log_block: log_values, .. } = *params;
        let _scratch = self.reserve_scratch::<M31>(1, 1 << params.log_parts())?;
        let weights = parts::weights(params, twiddles);
        self.for_chunks(values, parts::TILE, |tile, values| {
            let start = tile * parts::TILE;
            for (i, sums) in values.chunks_mut(1 << log_values).enumerate() {
                let column = (start >> log_values) + i;
                let coefficients = &coefficients[column << log_coefficients..(column + 1) << log_coefficients];
                let start = start & ((1 << log_values) - 1);
                parts::add_up(self.simd(), coefficients, 1 << log_values, start, &weights, sums);
            }
        });
        let position = params.position() as usize;
        self.circle_transform(log_values, twiddles, values, Direction::Evaluate { position });
        Ok(())
    }
}
