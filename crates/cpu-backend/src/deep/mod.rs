//! The deep op set on the processor.

mod domain;
mod lines;
mod numerators;
mod quotients;

use backend_api::{
    BackendError,
    ops::deep::{DeepLines, DeepNumerators, DeepPoints, DeepQuotients},
};
use core_types::{
    circle::{CirclePoint, CirclePointIndex},
    field::{M31, QM31},
    params::deep::DeepQuotientsParams,
};

use self::{
    domain::{DomainTiles, LOG_TILE},
    lines::Claims,
    numerators::NumeratorInputs,
    quotients::{QuotientScratch, Quotients},
};
use crate::checked::DeepOps;
use crate::{CpuQueue, columns::cut_columns};

impl DeepOps for CpuQueue {
    fn deep_points(&self, op: DeepPoints<'_, Self>) -> Result<(), BackendError> {
        // `2^d (z + index G)` with `z = ((1 - t^2) / (1 + t^2), 2 t / (1 + t^2))` for the drawn `t`, the generator `G`
        // and `d` doublings.
        let Some(origin) = CirclePoint::from_parameter(op.parameter[0]) else {
            op.points.fill(QM31::ZERO);
            return Ok(());
        };
        for (at, target) in op.points_at.iter().zip(op.points.as_chunks_mut::<2>().0) {
            let mut point = origin + CirclePoint::from(CirclePointIndex::new(at.index).to_point());
            for _ in 0..at.doublings {
                point = point.double();
            }
            *target = [point.x, point.y];
        }
        Ok(())
    }

    fn deep_lines(&self, op: DeepLines<'_, Self>) -> Result<(), BackendError> {
        let DeepLines { terms, batches, points, sampled, powers, factors, lines } = op;
        Claims { terms, batches, points, sampled, powers }.write(factors, lines);
        Ok(())
    }

    fn deep_numerators(&self, op: DeepNumerators<'_, Self>) -> Result<(), BackendError> {
        let DeepNumerators { params, columns, terms, batches, values, factors, numerators } = op;
        let sums = NumeratorInputs { columns, terms, batches, values, factors };
        let tiles = cut_columns(numerators, 1 << params.log_size, numerators::TILE);
        self.for_jobs(tiles, |i, mut tile| sums.write(self.simd(), i * numerators::TILE, &mut tile));
        Ok(())
    }

    fn deep_quotients(&self, op: DeepQuotients<'_, Self>) -> Result<(), BackendError> {
        let DeepQuotients { params, batches, points, lines, numerators, quotients } = op;
        let DeepQuotientsParams { log_size, log_domain } = *params;
        let log_tile = log_size.clamp(1, LOG_TILE);
        let tiles = cut_columns(quotients, 1 << log_size, 1 << log_tile);
        let _scratch = self.reserve_scratch::<QuotientScratch>(tiles.len(), 1)?;
        let _steps = self.reserve_scratch::<M31>(1, DomainTiles::WORDS)?;
        let sums = Quotients::new(log_size, DomainTiles::new(log_domain, log_tile), batches, points, lines, numerators);
        self.for_jobs(tiles, |i, mut tile| sums.write(self.simd(), i, &mut tile));
        Ok(())
    }
}
