//! Trainings with their whole history, and their features by definition, in f64.

use backend_api::{BackendError, Buffer, Queue, ops::correction::TrainingRecords};

use crate::{Buf, Conditioned, linalg::model::InputSource, list::ListIterator as _};

const LOSSES: usize = 256;
const NORMS: usize = 64;

/// All that was recorded of a training, the oldest first.
#[derive(Clone)]
pub(super) struct TrainingRecord {
    pub(super) losses: Vec<f32>,
    pub(super) norms: Vec<f32>,
    pub(super) scalars: [f32; 12],
    /// An offset of the record count; a multiple of 256, so that ring positions are unchanged.
    pub(super) before: u64,
}

/// The mean, the deviation, the least and the greatest of `values`; zeros for none.
fn statistics(values: &[f64]) -> [f64; 4] {
    if values.is_empty() {
        return [0.0; 4];
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    [mean, variance.sqrt(), least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
}

/// The last `n` of `values`, in f64.
fn last(values: &[f32], n: usize) -> Vec<f64> {
    values[values.len().saturating_sub(n)..].iter().map(|&x| f64::from(x)).list()
}

impl TrainingRecord {
    /// One of `losses` and `norms` records, whose losses fall.
    pub(super) fn new(losses: usize, norms: usize) -> Self {
        let mut random = InputSource::new((losses * 1009 + norms) as u64);
        let noise = random.reals::<f32>(losses + norms + 12);
        let loss = |i: usize| 3.0 / (1.0 + i as f32 / 64.0) + noise[i] / 4.0;
        let losses: Vec<f32> = (0..losses).map(loss).list();
        let norms: Vec<f32> = noise[losses.len()..][..norms].iter().map(|x| 1.5 + x).list();
        let mut scalars = [0.0; 12];
        scalars.iter_mut().zip(&noise[losses.len() + norms.len()..]).for_each(|(scalar, x)| *scalar = *x);
        scalars[0] = losses.last().copied().unwrap_or(f32::NAN);
        scalars[1] = (losses.len() * 37) as f32;
        scalars[2] = norms.last().copied().unwrap_or(f32::NAN);
        scalars[7] = 3e-4 * (1.0 + scalars[7]);
        scalars[10] = (losses.len() % 4) as f32;
        scalars[11] = losses.len() as f32;
        Self { losses, norms, scalars, before: 0 }
    }

    /// The features by their definition.
    pub(super) fn features(&self) -> Vec<f64> {
        let s = self.scalars.map(f64::from);
        let (losses, norms) = (last(&self.losses, LOSSES), statistics(&last(&self.norms, NORMS)));
        let mut all = vec![s[0]];
        all.extend(statistics(&losses));
        if losses.len() >= 32 {
            let [recent, older] = [0, 16].map(|skip| losses.iter().rev().skip(skip).take(16).sum::<f64>() / 16.0);
            all.extend([recent - older, recent / older.max(1e-8)]);
        } else {
            all.extend([0.0, 1.0]);
        }
        all.extend([s[1] / 1e4, s[2]]);
        all.extend(norms);
        let mean = norms[0].max(1e-8);
        all.extend([s[2].log10().max(-10.0), (s[2] / mean).min(10.0), norms[1] / mean]);
        all.extend(&s[3..7]);
        all.extend([s[7].log10().max(-10.0), s[8], s[9], 0.0, s[10], s[11] / 100.0]);
        all.resize(64, 0.0);
        all
    }
}

/// A ring of `places` slots that recorded `values` in order; slots never written hold NaN.
fn ring(values: &[f32], places: usize) -> Vec<f32> {
    let mut ring = vec![f32::NAN; places];
    values.iter().enumerate().for_each(|(i, &x)| ring[i % places] = x);
    ring
}

/// The records of a batch on a device.
pub(super) struct Records {
    losses: Buf<f32>,
    norms: Buf<f32>,
    scalars: Buf<f32>,
    recorded: Buf<u64>,
}

impl Records {
    pub(super) fn new(q: &Conditioned, batch: &[TrainingRecord]) -> Result<Self, BackendError> {
        let losses: Vec<f32> = batch.iter().flat_map(|training| ring(&training.losses, LOSSES)).list();
        let norms: Vec<f32> = batch.iter().flat_map(|training| ring(&training.norms, NORMS)).list();
        let scalars: Vec<f32> = batch.iter().flat_map(|training| training.scalars).list();
        let counts = |training: &TrainingRecord| {
            [training.losses.len(), training.norms.len()].map(|len| len as u64 + training.before)
        };
        Ok(Self {
            losses: q.upload(&losses)?,
            norms: q.upload(&norms)?,
            scalars: q.upload(&scalars)?,
            recorded: q.upload(&batch.iter().flat_map(counts).list())?,
        })
    }

    pub(super) fn views(&self) -> TrainingRecords<'_, Conditioned> {
        let Self { losses, norms, scalars, recorded } = self;
        TrainingRecords {
            losses: losses.view(),
            norms: norms.view(),
            scalars: scalars.view(),
            recorded: recorded.view(),
        }
    }
}
