//! Bits on every vector level and any number of threads. Values are the conformance suite's.

use backend_api::ops::correction::{CorrectionOps, EncodeStates, EstimateResiduals, SimilarStates, TrainingRecords};
use core_types::params::correction::{EncodeParams, EstimateParams, SimilarParams};
use cpu_backend::{CpuQueue, Simd, SimdLevel};

use super::values;
use crate::levels::{levels, queue};

/// Features and codes of trainings `first..first + count` of those that `values` make.
fn codes(q: &CpuQueue, first: usize, count: usize) -> (Vec<f32>, Vec<f32>) {
    const OUTPUTS: usize = 37;
    let all = first + count;
    let (losses, norms, scalars) = (values(1, all * 256), values(2, all * 64), values(3, all * 12));
    let recorded: Vec<u64> = (0..2 * all as u64).map(|i| i * 29 % 300).collect();
    let (weights, bias) = (values(4, 64 * OUTPUTS), values(5, OUTPUTS));
    let (mut features, mut codes) = (vec![0.0; count * 64], vec![0.0; count * OUTPUTS]);
    q.encode_states(EncodeStates {
        params: &EncodeParams { batch: count as u64, outputs: OUTPUTS as u64 },
        records: TrainingRecords {
            losses: &losses[first * 256..],
            norms: &norms[first * 64..],
            scalars: &scalars[first * 12..],
            recorded: &recorded[first * 2..],
        },
        weights: &weights,
        bias: &bias,
        features: Some(&mut features),
        codes: &mut codes,
    })
    .unwrap();
    (features, codes)
}

#[test]
fn features_have_the_same_bits_everywhere_and_codes_in_every_batch() {
    const BATCH: usize = 131;
    let portable = codes(&queue(Simd::detect_up_to(SimdLevel::Portable), 1), 0, BATCH).0;
    for simd in levels() {
        let (features, all) = codes(&queue(simd, 1), 0, BATCH);
        assert_eq!(
            features.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            portable.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            "{simd:?}"
        );
        assert_eq!(codes(&queue(simd, 3), 0, BATCH).1, all);
        for row in [0, 63, 64, BATCH - 1] {
            assert_eq!(codes(&queue(simd, 1), row, 1).1, all[row * 37..][..37], "{simd:?} {row}");
        }
    }
}

#[test]
fn similar_states_do_not_depend_on_the_threads() {
    const CAPACITY: usize = 9000;
    let (states, queries) = (values(6, CAPACITY * 7), values(7, 3 * 7));
    let norms: Vec<f32> = states.chunks(7).map(|row| row.iter().map(|x| x * x).sum::<f32>().sqrt()).collect();
    let found = |simd, threads| {
        let (mut places, mut similarities) = (vec![0; 30], vec![0.0; 30]);
        queue(simd, threads)
            .similar_states(SimilarStates {
                params: &SimilarParams { capacity: CAPACITY as u64, width: 7, queries: 3, count: 10 },
                states: &states,
                norms: &norms,
                stored: &[10_000],
                queries: &queries,
                places: &mut places,
                similarities: &mut similarities,
            })
            .unwrap();
        (places, similarities)
    };
    for simd in levels() {
        assert_eq!(found(simd, 1), found(simd, 3), "{simd:?}");
    }
}

#[test]
fn estimates_by_hand_for_each_query() {
    // Residual, step and confidence of three states; a weight falls to a half in 100 steps.
    let known = [2.0, 100.0, 1.0, 5.0, 0.0, 2.0, -1.0, 60.0, 4.0];
    let (mut history, mut modelled) = ([9.0f32; 3], [9.0f32; 3]);
    queue(Simd::detect_up_to(SimdLevel::Portable), 1)
        .estimate_residuals(EstimateResiduals {
            params: &EstimateParams {
                capacity: 3,
                width: 3,
                queries: 3,
                count: 2,
                coefficients: 2,
                decay: 0.5,
                reserved: 0,
            },
            known: &known,
            places: &[0, 1, 2, 9, 9, 9],
            features: &[1.0, 2.0, 100.0, 3.0, -4.0, 100.0, 5.0, 6.0, 100.0],
            steps: &[100.0, 50.0, 0.0],
            model: &[10.0, 1.0, 0.5],
            history: &mut history,
            modelled: &mut modelled,
        })
        .unwrap();
    // (2 * 1 + 5 * 2 / 2) / (1 + 2 / 2); one state, from a later step; none.
    assert_eq!(history, [3.5, -1.0, 0.0]);
    // 10 + 2 + 0.5 and 30 - 4 + 0.5; the third feature has no coefficient.
    assert_eq!(modelled, [12.5, 26.5, 0.0]);
}
