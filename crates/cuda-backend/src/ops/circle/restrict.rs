//! From coefficients to values on a whole domain or on a block of it.

use backend_api::{BackendError, Buffer, Queue, ops::circle::CircleRestrict};
use core_types::{
    field::{M31, Twiddle},
    params::circle::{CircleRestrictParams, CircleSmallParams},
};

use super::{
    LOG_SMALL,
    schedule::{DomainSpan, LayerSchedule},
};
use crate::{CudaMut, CudaQueue, CudaRef, launch::stark::circle};

/// The input of the first launch of a transform from coefficients.
#[derive(Clone, Copy)]
pub(super) enum CoefficientSource<'a> {
    /// The columns that it writes.
    InPlace,
    /// Columns of one polynomial's coefficients each, read for every copy.
    Columns(CudaRef<'a, M31>),
    /// Columns of more coefficients, whose parts are added up with these weights.
    Parts { coefficients: CudaRef<'a, M31>, weights: CudaRef<'a, Twiddle>, log_coefficients: u32 },
}

impl CudaQueue {
    pub(super) fn evaluate_block(&self, op: CircleRestrict<'_, Self>) -> Result<(), BackendError> {
        let CircleRestrict { params, twiddles, coefficients, values } = op;
        let CircleRestrictParams { log_coefficients, log_domain, log_block, columns, .. } = *params;
        if columns == 0 {
            return Ok(());
        }
        let span = DomainSpan { log_domain, log_size: log_block, position: params.position() };
        if params.log_parts() == 0 {
            let source = CoefficientSource::Columns(coefficients);
            return self.circle_layers(span, log_coefficients, columns, twiddles, source, &values);
        }
        let mut weights = self.alloc::<Twiddle>(1 << params.log_parts())?;
        circle::restrict_weights(self, params, twiddles, &weights.view_mut())?;
        let source = CoefficientSource::Parts { coefficients, weights: weights.view(), log_coefficients };
        self.circle_layers(span, log_block, columns, twiddles, source, &values)
    }

    /// Runs the layers of polynomials of `2^log_len` coefficients in `columns`.
    ///
    /// The first launch reads from `source`.
    pub(super) fn circle_layers(
        &self,
        span: DomainSpan,
        log_len: u32,
        count: u32,
        twiddles: CudaRef<'_, Twiddle>,
        source: CoefficientSource<'_>,
        columns: &CudaMut<'_, M31>,
    ) -> Result<(), BackendError> {
        let DomainSpan { log_domain, log_size, position } = span;
        let log_source = |source| match source {
            CoefficientSource::InPlace => log_size,
            CoefficientSource::Columns(_) => log_len,
            CoefficientSource::Parts { log_coefficients, .. } => log_coefficients,
        };
        if log_size <= LOG_SMALL {
            let log_source = log_source(source);
            let params = CircleSmallParams { log_domain, log_size, log_source, columns: count, position };
            return match source {
                CoefficientSource::InPlace => {
                    circle::small_evaluate(self, &params, columns.as_ref(), columns, twiddles)
                }
                CoefficientSource::Columns(source) => circle::small_evaluate(self, &params, source, columns, twiddles),
                CoefficientSource::Parts { coefficients, weights, .. } => {
                    circle::small_restrict(self, &params, coefficients, columns, [twiddles, weights])
                }
            };
        }
        let (schedule, mut source) = (LayerSchedule::new(log_len), source);
        for &strips in schedule.strips.iter().rev() {
            let params = span.strips(strips, log_source(source), log_len, 0);
            match source {
                CoefficientSource::InPlace => {
                    circle::strip_evaluate(self, &params, count, columns.as_ref(), columns, twiddles)?;
                }
                CoefficientSource::Columns(source) => {
                    circle::strip_evaluate(self, &params, count, source, columns, twiddles)?;
                }
                CoefficientSource::Parts { coefficients, weights, .. } => {
                    circle::strip_restrict(self, &params, count, coefficients, columns, [twiddles, weights])?;
                }
            }
            source = CoefficientSource::InPlace;
        }
        let params = span.tiles(log_source(source), schedule.tiles, 0, count);
        match source {
            CoefficientSource::InPlace => circle::tile_evaluate(self, &params, columns, twiddles),
            CoefficientSource::Columns(source) => circle::tile_extend(self, &params, source, columns, twiddles),
            CoefficientSource::Parts { coefficients, weights, .. } => {
                circle::tile_restrict(self, &params, coefficients, columns, [twiddles, weights])
            }
        }
    }
}
