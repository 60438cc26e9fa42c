//! Lists of polynomials and points, cut into jobs.

use backend_api::BackendError;
use core_types::{
    circle::CirclePoint,
    field::{M31, QM31},
};

use super::{
    point::{Basis, LOG_RANGE},
    steps::StepRunner,
};
use crate::CpuQueue;

/// Coefficients of a job, unless its only column has more.
const GRAIN: usize = 1 << 15;

/// What to evaluate where.
#[derive(Clone, Copy)]
pub(super) struct ColumnSample<'a> {
    /// The coefficients.
    pub(super) column: &'a [M31],
    /// The point, by its place in the list.
    pub(super) point: usize,
}

/// Neighbouring samples, and the range of their columns to evaluate.
///
/// The samples are of columns of one range, or of one column with more ranges.
struct SampleJob<'a> {
    samples: &'a [ColumnSample<'a>],
    range: usize,
    sums: &'a mut [QM31],
}

impl CpuQueue {
    /// Writes the value of each sample.
    pub(super) fn evaluate_samples(
        &self,
        points: &[CirclePoint<QM31>],
        samples: &[ColumnSample<'_>],
        values: &mut [QM31],
    ) -> Result<(), BackendError> {
        // Samples grouped by their columns, and the basis at each point.
        let groups = groups(samples);
        let sums = groups.iter().map(|group| group.samples.len() * group.ranges).sum();
        let log_lanes = self.simd().log_width();
        let _scratch = self.reserve_scratch::<QM31>(1, points.len() * Basis::len(log_lanes) + sums)?;
        let longest = samples.iter().map(|sample| sample.column.len().ilog2()).max().unwrap_or(0);
        let bases: Vec<Basis> = points.iter().map(|&point| Basis::new(point, longest, log_lanes)).collect();

        // One job for each range of a group.
        let mut all_sums = vec![QM31::ZERO; sums];
        let (mut jobs, mut rest) = (Vec::with_capacity(groups.len()), &mut all_sums[..]);
        for group in &groups {
            for range in 0..group.ranges {
                let (sums, left) = rest.split_at_mut(group.samples.len());
                jobs.push(SampleJob { samples: group.samples, range, sums });
                rest = left;
            }
        }
        self.for_jobs(jobs, |_, job| {
            for (sum, sample) in job.sums.iter_mut().zip(job.samples) {
                let column = sample.column.chunks(1 << LOG_RANGE).nth(job.range).unwrap_or_default();
                *sum = bases[sample.point].sum(self.simd(), column, job.range);
            }
        });

        // The sums of all ranges of a column add up to its value.
        let (mut values, mut sums) = (values, &all_sums[..]);
        for SampleGroup { samples, ranges } in groups {
            let (own, left) = values.split_at_mut(samples.len());
            let (own_sums, left_sums) = sums.split_at(samples.len() * ranges);
            own.fill(QM31::ZERO);
            for sums in own_sums.chunks(samples.len()) {
                own.iter_mut().zip(sums).for_each(|(value, &sum)| *value += sum);
            }
            (values, sums) = (left, left_sums);
        }
        Ok(())
    }
}

/// Neighbouring samples whose columns have `ranges` ranges each.
///
/// If there is more than one range, all samples are of one column.
struct SampleGroup<'a> {
    samples: &'a [ColumnSample<'a>],
    ranges: usize,
}

/// Cuts a list by its columns alone.
fn groups<'a>(samples: &'a [ColumnSample<'a>]) -> Vec<SampleGroup<'a>> {
    let (mut groups, mut rest) = (Vec::new(), samples);
    while let Some(first) = rest.first() {
        let ranges = first.column.len().div_ceil(1 << LOG_RANGE);
        let count = if ranges > 1 {
            rest.iter().take_while(|sample| core::ptr::eq(sample.column, first.column)).count()
        } else {
            let mut words = 0;
            let whole = rest.iter().take_while(|sample| {
                let fits = words < GRAIN && sample.column.len() <= 1 << LOG_RANGE;
                words += sample.column.len();
                fits
            });
            whole.count()
        };
        let (samples, left) = rest.split_at(count);
        groups.push(SampleGroup { samples, ranges });
        rest = left;
    }
    groups
}
