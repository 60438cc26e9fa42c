//! Bits on every vector level and any number of threads. Values are the conformance suite's.

use std::cmp::Ordering;

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
    const CAPACITY: usize = 17_000;
    let (states, queries) = (values(6, CAPACITY * 7), values(7, 3 * 7));
    let norms: Vec<f32> = states.chunks(7).map(|row| row.iter().map(|x| x * x).sum::<f32>().sqrt()).collect();
    let found = |simd, threads, stored| {
        let (mut places, mut similarities) = (vec![0; 30], vec![0.0; 30]);
        queue(simd, threads)
            .similar_states(SimilarStates {
                params: &SimilarParams { capacity: CAPACITY as u64, width: 7, queries: 3, count: 10 },
                states: &states,
                norms: &norms,
                stored: &[stored],
                queries: &queries,
                places: &mut places,
                similarities: &mut similarities,
            })
            .unwrap();
        (places, similarities)
    };
    for simd in levels() {
        for stored in [2047, 2048, 4097, 8192, 18_000] {
            assert_eq!(found(simd, 1, stored), found(simd, 3, stored), "{simd:?} {stored}");
        }
    }
}

/// The places and similarities of the 32 most similar states, by sorting all of them.
///
/// Features are integers and norms powers of two, so that every similarity is exact.
fn sorted(states: &[f32], norms: &[f32], oldest: usize, query: &[f32], norm: f64) -> (Vec<u32>, Vec<u32>) {
    let place = |order: usize| (oldest + order) % norms.len();
    let similarity = |place: usize| {
        let state = &states[place * query.len()..][..query.len()];
        let product: i64 = state.iter().zip(query).map(|(&x, &y)| x as i64 * y as i64).sum();
        let known = f64::from(norms[place]);
        if known < 1e-8 || norm < 1e-8 { 0.0 } else { product as f64 / (known * norm) }
    };
    let mut all: Vec<(usize, f64)> = (0..norms.len()).map(|order| (place(order), similarity(place(order)))).collect();
    all.sort_by(|(_, a), (_, b)| a.is_nan().cmp(&b.is_nan()).then(b.partial_cmp(a).unwrap_or(Ordering::Equal)));
    all.iter().take(32).map(|&(place, x)| (place as u32, (x as f32).to_bits())).unzip()
}

#[test]
fn similar_states_of_rings_of_several_parts_match_a_sort() {
    const LONG: usize = 16_461;
    let lengths = [0.0, 1e-9, 0.5, 1.0, 1.0, 2.0, 4.0, -2.0, f32::NAN];
    let of_long = [(1, 0), (4, 17), (16, 16_400), (31, 5003), (33, 8192), (64, 1), (70, 16_460)];
    let of_others = [(2048, 16, 9), (4097, 5, 4096), (8192, 7, 8191), (33_001, 5, 20_000)];
    let of_long = of_long.map(|(width, oldest)| (LONG, width, oldest));
    for (capacity, width, oldest) in of_long.into_iter().chain(of_others) {
        let states: Vec<f32> = values(8, capacity * width).iter().map(|x| (4.0 * x).round()).collect();
        let norms: Vec<f32> = (0..capacity).map(|i| lengths[i * 7919 % 64 % lengths.len()]).collect();
        // A query of up to four ones, a query without a norm, and the first one negated.
        let ones = width.min(4);
        let first: Vec<f32> = (0..width).map(|i| if i < width - ones { 0.0 } else { 1.0 }).collect();
        let queries = [&first[..], &vec![0.0; width], &first.iter().map(|x| -x).collect::<Vec<_>>()].concat();
        let expected: Vec<_> = queries
            .chunks(width)
            .zip([1.0, 0.0, 1.0])
            .map(|(query, norm)| sorted(&states, &norms, oldest, query, norm * (ones as f64).sqrt()))
            .collect();
        for simd in levels() {
            let (mut places, mut similarities) = ([0; 96], [0.0f32; 96]);
            queue(simd, 1)
                .similar_states(SimilarStates {
                    params: &SimilarParams { capacity: capacity as u64, width: width as u64, queries: 3, count: 32 },
                    states: &states,
                    norms: &norms,
                    stored: &[(3 * capacity + oldest) as u64],
                    queries: &queries,
                    places: &mut places,
                    similarities: &mut similarities,
                })
                .unwrap();
            let bits = similarities.map(f32::to_bits);
            for ((places, bits), expected) in places.chunks(32).zip(bits.chunks(32)).zip(&expected) {
                assert_eq!((places, bits), (&expected.0[..], &expected.1[..]), "{simd:?} {capacity} {width}");
            }
        }
    }
}

#[test]
fn states_that_are_not_numbers_fill_a_list_until_numbers_come() {
    // The list is full of NaN when the first number comes, in the second group; the next one is below all.
    let norms: Vec<f32> = (0..40).map(|i| if i == 20 || i == 37 { 1.0 } else { f32::NAN }).collect();
    let states: Vec<f32> = (0..40).map(|i| if i == 37 { f32::NEG_INFINITY } else { -3.0 }).collect();
    for simd in levels() {
        let (mut places, mut similarities) = ([0; 4], [0.0f32; 4]);
        queue(simd, 1)
            .similar_states(SimilarStates {
                params: &SimilarParams { capacity: 40, width: 1, queries: 1, count: 4 },
                states: &states,
                norms: &norms,
                stored: &[40],
                queries: &[1.0],
                places: &mut places,
                similarities: &mut similarities,
            })
            .unwrap();
        assert_eq!(places, [20, 37, 0, 1], "{simd:?}");
        assert_eq!(similarities[..2], [-3.0, f32::NEG_INFINITY], "{simd:?}");
        assert!(similarities[2..].iter().all(|x| x.is_nan()), "{simd:?}");
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
