//! Codes of trainings: features, a product and its positive part.
//!
//! They are computed for a block of rows that stays in the cache.
//!
//! A code is `max(features W + bias, 0)`.

use backend_api::{
    BackendError,
    ops::correction::{EncodeStates, TrainingRecords},
};
use core_types::params::correction::FEATURES;

use super::features::{Features, rows};
use crate::{
    CpuQueue,
    panels::{PanelProduct, Start},
    simd::{LaneKernel, dispatch},
};

/// Trainings of a task.
const ROWS: usize = 64;
const WIDTH: usize = FEATURES as usize;

/// Values below zero become zero; NaN stays.
struct ReluInPlace<'a>(&'a mut [f32]);

impl<L> LaneKernel<L> for ReluInPlace<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        for x in self.0 {
            *x = if *x < 0.0 { 0.0 } else { *x };
        }
    }
}

/// The op has checked its lengths.
pub(super) fn run(q: &CpuQueue, op: EncodeStates<'_, CpuQueue>) -> Result<(), BackendError> {
    let EncodeStates { params, records, weights, bias, features, codes } = op;
    let (batch, outputs) = (params.batch as usize, params.outputs as usize);
    let Some(features) = features else {
        if codes.is_empty() {
            return Ok(());
        }
        let _scratch = q.reserve_scratch::<f32>(batch.div_ceil(ROWS), ROWS * WIDTH)?;
        q.for_chunks(codes, ROWS * outputs, |task, codes| {
            let mut features = [0.0; ROWS * WIDTH];
            let count = codes.len() / outputs;
            encode(q, rows(records, task * ROWS, count), [weights, bias], &mut features[..count * WIDTH], codes);
        });
        return Ok(());
    };
    let mut rest = codes;
    let jobs = features.chunks_mut(ROWS * WIDTH).map(|features| {
        let (codes, after) = core::mem::take(&mut rest).split_at_mut(features.len() / WIDTH * outputs);
        rest = after;
        (features, codes)
    });
    q.for_jobs(jobs.collect(), |task, (features, codes)| {
        encode(q, rows(records, task * ROWS, features.len() / WIDTH), [weights, bias], features, codes);
    });
    Ok(())
}

/// Some rows of codes and features.
fn encode(
    q: &CpuQueue,
    records: TrainingRecords<'_, CpuQueue>,
    [w, bias]: [&[f32]; 2],
    features: &mut [f32],
    codes: &mut [f32],
) {
    dispatch(q.simd(), Features { records, features: &mut *features });
    let (rows, n) = (features.len() / WIDTH, bias.len());
    let (a, b, c) = (&*features, w, &mut *codes);
    let product =
        PanelProduct { rows, k: WIDTH, n, a, a_row: WIDTH, b, b_row: n, start: Start::Row(bias), c, c_row: n };
    dispatch(q.simd(), product);
    dispatch(q.simd(), ReluInPlace(codes));
}
