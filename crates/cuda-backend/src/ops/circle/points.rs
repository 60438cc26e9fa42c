//! Evaluation at points.
//!
//! One launch computes the factors of all points, and one or two the columns of each size.

use std::collections::BTreeMap;

use backend_api::{
    BackendError, Buffer, BufferRef, Queue,
    ops::{
        Op as _,
        circle::{CircleEvalAtPoint, CircleEvalAtPoints},
    },
};
use core_types::{
    field::{M31, QM31},
    params::circle::{CirclePointParams, CirclePointRangeParams, CircleSampleAt},
};

use super::schedule::log_range;
use crate::{CudaMut, CudaQueue, CudaRef, launch::stark::circle};

impl CudaQueue {
    pub(super) fn evaluate_at_point(&self, op: CircleEvalAtPoint<'_, Self>) -> Result<(), BackendError> {
        let CircleEvalAtPoint { params, coefficients, results } = op;
        let CirclePointParams { log_size, columns, point } = *params;
        let samples = (0..columns).map(|column| (log_size, u64::from(column) << log_size, 0));
        let points = self.upload(&[point.x, point.y])?;
        self.evaluate_samples(samples, coefficients, points.view(), &results)
    }

    pub(super) fn evaluate_at_points(&self, op: CircleEvalAtPoints<'_, Self>) -> Result<(), BackendError> {
        let CircleEvalAtPoints { columns, samples, coefficients, points, sampled } = op;
        let samples = samples.iter().map(|sample| {
            let column = columns[sample.column as usize];
            (column.log_len, column.first, sample.point)
        });
        self.evaluate_samples(samples, coefficients, points, &sampled)
    }

    /// Writes the value of each sample.
    ///
    /// A sample is given by the log size and first word of its column, and by its point.
    fn evaluate_samples(
        &self,
        samples: impl Iterator<Item = (u32, u64, u32)>,
        coefficients: CudaRef<'_, M31>,
        points: CudaRef<'_, QM31>,
        values: &CudaMut<'_, QM31>,
    ) -> Result<(), BackendError> {
        let mut sizes: BTreeMap<u32, Vec<CircleSampleAt>> = BTreeMap::new();
        for (value, (log_size, first, point)) in samples.enumerate() {
            let value = u32::try_from(value).map_err(|_| BackendError::Unsupported {
                op: CircleEvalAtPoints::<Self>::NAME,
                why: "expected fewer than 2^32 samples",
            })?;
            sizes.entry(log_size).or_default().push(CircleSampleAt { first, point, value });
        }
        if sizes.is_empty() {
            return Ok(());
        }
        let mut factors = self.alloc::<QM31>(points.len() / 2 * CirclePointRangeParams::FACTORS)?;
        circle::point_factors(self, points, &factors.view_mut())?;
        for (log_size, samples) in sizes {
            let log_range = log_range(log_size, samples.len() as u32); // counted above
            let params = CirclePointRangeParams { log_size, log_range };
            let samples = self.upload(&samples)?;
            if log_range == log_size {
                circle::point_ranges(self, &params, samples.view(), coefficients, factors.view(), values)?;
                continue;
            }
            let ranges = 1 << (log_size - log_range);
            let mut sums = self.alloc::<QM31>(samples.len() * ranges)?;
            circle::point_ranges(self, &params, samples.view(), coefficients, factors.view(), &sums.view_mut())?;
            circle::point_sums(self, samples.view(), sums.view(), values, ranges as u32)?;
        }
        Ok(())
    }
}
