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

use super::{schedule::log_range, striding};
use crate::{CudaMut, CudaQueue, CudaRef};

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
        // The factors of the bits of an index at each point, `[points][30]`.
        let count = points.len() / 2;
        let mut factors = self.alloc::<QM31>(count * CirclePointRangeParams::FACTORS)?;
        let launch = striding(self.kernel("circle_point_factors")?, count as u64).input("points", points);
        let launch = launch.output("factors", &factors.view_mut()).value("len", &(count as u64));
        // SAFETY: `factors` has room for the factors of `count` points, and `points` has both coordinates of each.
        unsafe { launch.launch() }?;

        for (log_size, samples) in sizes {
            let log_range = log_range(log_size, samples.len() as u32); // counted above
            let params = CirclePointRangeParams { log_size, log_range };
            let samples = self.upload(&samples)?;

            // Partial sums at the sampled points, `[samples][ranges]`. If a range is a whole column, they are the
            // values.
            let ranges = 1u32 << (log_size - log_range);
            let mut sums = if ranges == 1 { None } else { Some(self.alloc::<QM31>(samples.len() * ranges as usize)?) };
            let partial = sums.as_mut().map(|sums| sums.view_mut());
            let launch = self.kernel("circle_point_ranges")?.grid([samples.len() as u64, ranges.into(), 1]);
            let launch = launch.input("samples", samples.view()).input("coefficients", coefficients);
            let launch = launch.input("all_factors", factors.view()).output("sums", partial.as_ref().unwrap_or(values));
            let launch = launch.value("params", &params);
            // SAFETY: the op has checked that the columns of the samples, of `2^log_size` words, lie in `coefficients`,
            // and that their points have factors. Every sum has a place.
            unsafe { launch.launch() }?;

            let Some(sums) = sums else { continue };
            let launch = self.kernel("circle_point_sums")?.blocks(samples.len() as u64);
            let launch = launch.input("samples", samples.view()).input("sums", sums.view());
            let launch = launch.output("values", values).value("len", &ranges);
            // SAFETY: every sample has `ranges` sums, and its place is among the values.
            unsafe { launch.launch() }?;
        }
        Ok(())
    }
}
