//! Features of trainings.

use backend_api::ops::correction::TrainingRecords;
use core_types::{
    features::{Statistics, Trend, features},
    params::correction::{FEATURES, LOSSES, NORMS, SCALARS},
};

use crate::{
    CpuQueue,
    simd::{LaneKernel, dispatch},
};

/// Sums side by side: the lanes of a warp.
const SUMS: usize = 32;
/// Trainings of a task.
const ROWS: usize = 64;

/// The features of some trainings.
pub(super) struct Features<'r, 'f> {
    pub(super) records: TrainingRecords<'r, CpuQueue>,
    /// `[rows, 64]`, one row per record.
    pub(super) features: &'f mut [f32],
}

/// The records from row `first` on.
pub(super) fn rows<'a>(
    records: TrainingRecords<'a, CpuQueue>,
    first: usize,
    count: usize,
) -> TrainingRecords<'a, CpuQueue> {
    let TrainingRecords { losses, norms, scalars, recorded } = records;
    let of = |all: &'a [f32], len: u64| &all[first * len as usize..][..count * len as usize];
    TrainingRecords {
        losses: of(losses, LOSSES),
        norms: of(norms, NORMS),
        scalars: of(scalars, SCALARS),
        recorded: &recorded[2 * first..][..2 * count],
    }
}

impl<L> LaneKernel<L> for Features<'_, '_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let TrainingRecords { losses, norms, scalars, recorded } = self.records;
        let rows = losses.chunks_exact(LOSSES as usize).zip(norms.chunks_exact(NORMS as usize));
        let rows = rows.zip(scalars.chunks_exact(SCALARS as usize)).zip(recorded.chunks_exact(2));
        for ((((losses, norms), scalars), recorded), features_of) in
            rows.zip(self.features.chunks_exact_mut(FEATURES as usize))
        {
            features_of.fill(0.0);
            let (of_losses, of_norms) = (statistics(losses, recorded[0]), statistics(norms, recorded[1]));
            let trend = trend(losses, recorded[0]);
            let scalar = |scalar| scalars[scalar as usize];
            features(scalar, &of_losses, &of_norms, trend, |i, value| features_of[i as usize] = value);
        }
    }
}

/// The sums of the first `N` of the sums, added half to half.
#[inline(always)]
fn total<const N: usize>(mut sums: [f64; N]) -> f64 {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Calls `term` with the number of a sum and each of the values, in turn.
#[inline(always)]
fn each(values: &[f32], mut term: impl FnMut(usize, f32)) {
    let (whole, rest) = values.as_chunks::<SUMS>();
    for chunk in whole {
        for (i, &x) in chunk.iter().enumerate() {
            term(i, x);
        }
    }
    for (i, &x) in rest.iter().enumerate() {
        term(i, x);
    }
}

/// Statistics of a ring that has received `recorded` values.
#[inline(always)]
fn statistics(ring: &[f32], recorded: u64) -> Statistics {
    let values = &ring[..usize::try_from(recorded).unwrap_or(usize::MAX).min(ring.len())];
    if values.is_empty() {
        return Statistics::default();
    }
    let (mut sums, mut least, mut greatest) = ([0.0; SUMS], [f32::INFINITY; SUMS], [f32::NEG_INFINITY; SUMS]);
    each(values, |i, x| {
        sums[i] += f64::from(x);
        least[i] = if x < least[i] { x } else { least[i] };
        greatest[i] = if x > greatest[i] { x } else { greatest[i] };
    });
    let mean = total(sums) / values.len() as f64;
    let mut squares = [0.0; SUMS];
    each(values, |i, x| {
        let away = f64::from(x) - mean;
        squares[i] += away * away;
    });
    Statistics {
        mean,
        deviation: (total(squares) / values.len() as f64).sqrt(),
        least: least.into_iter().fold(f32::INFINITY, |least, x| if x < least { x } else { least }),
        greatest: greatest.into_iter().fold(f32::NEG_INFINITY, |greatest, x| if x > greatest { x } else { greatest }),
    }
}

/// The sums of the last sixteen losses and of those before.
#[inline(always)]
fn trend(losses: &[f32], recorded: u64) -> Trend {
    if recorded < 32 {
        return None;
    }
    let ago = |i: u64| f64::from(losses[((recorded - 1 - i) % LOSSES) as usize]);
    let sum = |first: u64| total::<16>(core::array::from_fn(|i| ago(first + i as u64)));
    Some([sum(0), sum(16)])
}

/// The op has checked its lengths.
pub(super) fn run(q: &CpuQueue, records: TrainingRecords<'_, CpuQueue>, features: &mut [f32]) {
    q.for_chunks(features, ROWS * FEATURES as usize, |task, features| {
        let records = rows(records, task * ROWS, features.len() / FEATURES as usize);
        dispatch(q.simd(), Features { records, features });
    });
}
