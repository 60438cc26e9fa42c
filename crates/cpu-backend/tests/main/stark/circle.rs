//! Every vector level and thread count against the word-by-word transforms.

use backend_api::{
    Queue,
    ops::circle::{
        BatchInverseM31, BatchInverseQm31, CircleEvalAtPoint, CircleEvalAtPoints, CircleEvaluate, CircleExtend,
        CircleInterpolate, CircleInterpolatePart, CircleOps, CircleRestrict,
    },
};
use core_types::{
    circle::{CirclePoint, CirclePointIndex, bit_reversed, double_x},
    field::{M31, QM31},
    params::{
        circle::{CircleExtendParams, CircleFftParams, CirclePartParams, CirclePointParams, CircleRestrictParams},
        columns::ColumnAt,
        deep::SampleAt,
    },
};
use cpu_backend::CpuQueue;

use super::{elements, secure, tree};
use crate::levels::{queues, strongest};

// The definition, which the library runs on columns below one block.
#[path = "../../../src/circle/scalar.rs"]
mod scalar;

#[test]
fn every_level_transforms_as_the_scalar_layers_do() {
    for q in queues() {
        for log_size in (1..=16).chain([19]) {
            let columns = if log_size < 12 { 3 } else { 1 };
            let (forward, inverse) = tree(&q, log_size);
            let params = CircleFftParams { log_size, columns };
            let input = elements((columns as usize) << log_size, u64::from(log_size));

            let (mut expected, mut got) = (input.clone(), input.clone());
            for column in expected.chunks_mut(1 << log_size) {
                scalar::interpolate(column, log_size, &inverse, log_size);
            }
            q.circle_interpolate(CircleInterpolate { params: &params, inverse_twiddles: &inverse, columns: &mut got })
                .unwrap();
            assert!(expected == got, "interpolate, log size {log_size}, {q:?}");
            q.circle_evaluate(CircleEvaluate { params: &params, twiddles: &forward, columns: &mut got }).unwrap();
            assert!(input == got, "round trip, log size {log_size}, {q:?}");

            let (mut expected, mut got) = (input.clone(), input);
            for column in expected.chunks_mut(1 << log_size) {
                scalar::evaluate(column, log_size, 0, &forward, log_size);
            }
            q.circle_evaluate(CircleEvaluate { params: &params, twiddles: &forward, columns: &mut got }).unwrap();
            assert!(expected == got, "evaluate, log size {log_size}, {q:?}");
        }
    }
}

#[test]
fn every_level_writes_the_twiddles_of_their_points() {
    for log_size in (1..=14).chain([18]) {
        let mut expected = Vec::new();
        for layer in 0..log_size - 1 {
            let (log_len, first) = (log_size - 2 - layer, CirclePointIndex::subgroup_generator(log_size + 1 - layer));
            expected.extend((0..1 << log_len).map(|h| (first * (1 + 4 * bit_reversed(h, log_len))).to_point().x));
        }
        expected.push(M31::ONE);
        for q in queues() {
            let (forward, inverse) = tree(&q, log_size);
            assert!(forward.iter().map(|t| t.factor()).eq(expected.iter().copied()), "log size {log_size}, {q:?}");
            let ones = inverse.iter().zip(&expected).all(|(t, &x)| t.factor() * x == M31::ONE);
            assert!(ones, "inverses, log size {log_size}, {q:?}");
        }
    }
}

#[test]
fn every_level_interpolates_parts_as_the_scalar_layers_do() {
    for q in queues() {
        for log_domain in [1, 2, 3, 5, 8, 11, 13, 16] {
            let (_, inverse) = tree(&q, log_domain);
            for log_size in 1..=log_domain {
                let input = elements(2 << log_size, 11);
                let (mut expected, mut got) = (input.clone(), input);
                for column in expected.chunks_mut(1 << log_size) {
                    scalar::interpolate(column, log_size, &inverse, log_domain);
                }
                let params = CirclePartParams { log_size, log_domain, columns: 2 };
                q.circle_interpolate_part(CircleInterpolatePart {
                    params: &params,
                    inverse_twiddles: &inverse,
                    columns: &mut got,
                })
                .unwrap();
                assert!(expected == got, "2^{log_size} of 2^{log_domain}, {q:?}");
            }
        }
    }
}

/// Folds the coefficients by the highest bit of their index, then by the next.
fn value_at(coefficients: &[M31], point: CirclePoint<QM31>) -> QM31 {
    let mut factors = vec![point.y, point.x];
    factors.extend(core::iter::successors(Some(double_x(point.x)), |&x| Some(double_x(x))).take(28));
    let mut sums: Vec<QM31> = coefficients.iter().map(|&c| c.into()).collect();
    while sums.len() > 1 {
        let (low, high) = sums.split_at(sums.len() / 2);
        let factor = factors[high.len().ilog2() as usize];
        sums = low.iter().zip(high).map(|(&a, &b)| a + b * factor).collect();
    }
    sums[0]
}

#[test]
fn every_level_evaluates_at_points_as_the_folds_do() {
    let points: Vec<CirclePoint<QM31>> =
        secure(3, 17).into_iter().map(|t| CirclePoint::from_parameter(t).expect("no root of minus one")).collect();
    let flat: Vec<QM31> = points.iter().flat_map(|point| [point.x, point.y]).collect();
    let logs: Vec<u32> = (0..=14).chain([16, 17, 18, 3, 0]).collect();
    let (mut columns, mut first) = (Vec::new(), 1);
    for &log_len in &logs {
        columns.push(ColumnAt::new(first, log_len));
        first += 1 << log_len;
    }
    let coefficients = elements(first as usize, 23);
    let words = |at: &ColumnAt| &coefficients[at.first as usize..][..1 << at.log_len];
    // Every column at every point one after the other, then all columns at one point.
    let samples: Vec<SampleAt> = (0..3 * columns.len() as u32)
        .map(|i| SampleAt { column: i / 3, point: i % 3 })
        .chain((0..columns.len() as u32).map(|column| SampleAt { column, point: 1 }))
        .collect();
    let expected: Vec<QM31> =
        samples.iter().map(|s| value_at(words(&columns[s.column as usize]), points[s.point as usize])).collect();
    for q in queues() {
        let mut sampled = vec![QM31::ONE; samples.len()];
        q.circle_eval_at_points(CircleEvalAtPoints {
            columns: &columns,
            samples: &samples,
            coefficients: &coefficients,
            points: &flat,
            sampled: &mut sampled,
        })
        .unwrap();
        assert!(expected == sampled, "{q:?}");
        for (at, expected) in columns.iter().zip(expected.chunks(3)) {
            let (params, mut got) =
                (CirclePointParams { log_size: at.log_len, columns: 1, point: points[2] }, [QM31::ONE]);
            q.circle_eval_at_point(CircleEvalAtPoint { params: &params, coefficients: words(at), results: &mut got })
                .unwrap();
            assert_eq!(got[0], expected[2], "2^{}, {q:?}", at.log_len);
        }
    }
}

#[test]
fn bases_and_sums_are_made_once_for_all_threads() {
    let coefficients = elements(1 << 16, 29);
    let point = CirclePoint::from_parameter(secure(1, 31)[0]).expect("no root of minus one");
    let params = CirclePointParams { log_size: 16, columns: 1, point };
    let [one, three] = [1, 3].map(|threads| {
        let q = strongest(threads);
        let (coefficients, mut results) = (&coefficients, [QM31::ONE]);
        q.circle_eval_at_point(CircleEvalAtPoint { params: &params, coefficients, results: &mut results }).unwrap();
        q.budget().peak_bytes()
    });
    assert!(one >= 16, "at least the sum of a column");
    assert_eq!(one, three);
}

#[test]
fn every_level_extends_as_evaluation_of_padded_coefficients() {
    for q in queues() {
        for log_size in [1, 2, 3, 5, 8, 11, 13, 16] {
            let (forward, _) = tree(&q, log_size);
            for log_coefficients in 0..=log_size {
                let coefficients = elements(2 << log_coefficients, 7);
                let mut expected = vec![M31::ZERO; 2 << log_size];
                for (column, values) in expected.chunks_mut(1 << log_size).enumerate() {
                    let source = &coefficients[column << log_coefficients..(column + 1) << log_coefficients];
                    values[..source.len()].copy_from_slice(source);
                    scalar::evaluate(values, log_size, 0, &forward, log_size);
                }
                let mut got = vec![M31::ZERO; 2 << log_size];
                let params = CircleExtendParams { log_coefficients, log_size, columns: 2 };
                q.circle_extend(CircleExtend {
                    params: &params,
                    twiddles: &forward,
                    coefficients: &coefficients,
                    values: &mut got,
                })
                .unwrap();
                assert!(expected == got, "from 2^{log_coefficients} to 2^{log_size}, {q:?}");
            }
        }
    }
}

#[test]
fn every_level_evaluates_blocks_as_the_scalar_layers_do() {
    for q in queues() {
        for log_domain in [1, 2, 3, 4, 5, 8, 11, 13, 15, 16] {
            let (forward, _) = tree(&q, log_domain);
            for log_coefficients in
                (0..=log_domain).filter(|log| log_domain < 9 || log % 3 == 0 || log + 2 > log_domain)
            {
                let coefficients = elements(2 << log_coefficients, 13);
                let mut expected = vec![M31::ZERO; 2 << log_domain];
                for (column, values) in expected.chunks_mut(1 << log_domain).enumerate() {
                    let source = &coefficients[column << log_coefficients..(column + 1) << log_coefficients];
                    values[..source.len()].copy_from_slice(source);
                    scalar::evaluate(values, log_domain, 0, &forward, log_domain);
                }
                for log_block in (1..=log_domain).filter(|log| log_domain < 9 || log % 4 == 1 || log + 3 > log_domain) {
                    let last = (1 << (log_domain - log_block)) - 1;
                    for block in [0, last / 3, last - last / 4, last] {
                        let params =
                            CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns: 2 };
                        let mut got = vec![M31::ZERO; 2 << log_block];
                        q.circle_restrict(CircleRestrict {
                            params: &params,
                            twiddles: &forward,
                            coefficients: &coefficients,
                            values: &mut got,
                        })
                        .unwrap();
                        let start = (block as usize) << log_block;
                        let columns = expected.chunks(1 << log_domain);
                        let expected: Vec<M31> =
                            columns.flat_map(|column| column[start..start + (1 << log_block)].to_vec()).collect();
                        assert!(expected == got, "{params:?}, {q:?}");
                    }
                }
            }
        }
    }
}

/// Inverses of `elements`, and the first zero among them or `first_zero`.
fn inverted(q: &CpuQueue, elements: &[M31], first_zero: u64) -> (Vec<M31>, u64) {
    let (mut inverses, mut first_zero) = (vec![M31::ZERO; elements.len()], [first_zero]);
    q.batch_inverse_m31(BatchInverseM31 { elements, inverses: &mut inverses, first_zero: &mut first_zero }).unwrap();
    (inverses, first_zero[0])
}

/// As [`inverted`], in the secure field.
fn secure_inverted(q: &CpuQueue, elements: &[QM31], first_zero: u64) -> (Vec<QM31>, u64) {
    let (mut inverses, mut first_zero) = (vec![QM31::ZERO; elements.len()], [first_zero]);
    q.batch_inverse_qm31(BatchInverseQm31 { elements, inverses: &mut inverses, first_zero: &mut first_zero }).unwrap();
    (inverses, first_zero[0])
}

#[test]
fn inverses_multiply_to_one_at_every_length() {
    for q in queues() {
        for len in [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 255, 257, 4095, 4096, 4097, 20_000] {
            let nonzero: Vec<M31> =
                elements(len, 3).into_iter().map(|x| if x.is_zero() { M31::ONE } else { x }).collect();
            let (inverses, first_zero) = inverted(&q, &nonzero, u64::MAX);
            assert!(nonzero.iter().zip(&inverses).all(|(&x, &y)| x * y == M31::ONE));
            let secure: Vec<QM31> =
                (0..len).map(|i| QM31::from_coordinates([1, 7, 31, 4].map(|k| nonzero[i * k % len]))).collect();
            let (secure_inverses, first_secure_zero) = secure_inverted(&q, &secure, u64::MAX);
            assert!(secure.iter().zip(&secure_inverses).all(|(&x, &y)| x * y == QM31::ONE));
            assert_eq!([first_zero, first_secure_zero], [u64::MAX; 2]);
        }
    }
}

#[test]
fn the_first_zero_is_noted_wherever_it_stands_and_never_raised() {
    for q in queues() {
        for index in [0, 1, 15, 16, 4094, 4095, 4096, 8191, 9998] {
            let mut elements = vec![M31::ONE; 10_000];
            (elements[index], elements[9999]) = (M31::ZERO, M31::ZERO);
            let secure: Vec<QM31> = elements.iter().map(|&x| x.into()).collect();
            let (_, first) = inverted(&q, &elements, u64::MAX);
            assert_eq!([first, secure_inverted(&q, &secure, u64::MAX).1], [index as u64; 2], "{q:?}");
            elements[0] = M31::ONE;
            assert_eq!(inverted(&q, &elements, first).1, index as u64, "{q:?}");
        }
    }
}
