//! DEEP quotients and FRI folds against the published crate `stwo` 2.3.

use backend_api::ops::{
    circle::{CircleOps as _, CircleTwiddles},
    deep::{DeepLines, DeepNumerators, DeepOps as _, DeepPoints, DeepQuotients},
    fri::{FriFold, FriLastLayer, FriOps as _},
};
use core_types::{
    field::{M31, QM31, Twiddle},
    params::{
        circle::CircleTwiddleParams,
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepQuotientsParams, DeepTerm, PointAt},
        fri::{FriFoldParams, FriLastLayerParams},
    },
};
use cpu_backend::CpuQueue;
use stwo::core::{
    circle::{CirclePoint, CirclePointIndex, Coset},
    fields::{
        m31::BaseField,
        qm31::{SECURE_EXTENSION_DEGREE, SecureField},
    },
    fri::{fold_circle_into_line, fold_line},
    pcs::quotients::{ColumnSampleBatch, NumeratorData, accumulate_row_quotients, quotient_constants},
    poly::{
        circle::CanonicCoset,
        line::{LineDomain, LinePoly},
    },
    utils::bit_reverse_index,
};

fn word(i: u32) -> M31 {
    if i % 11 == 5 { -M31::ONE } else { M31::from_u32(i.wrapping_mul(0x9e37_79b9).rotate_left(7)) }
}

fn secure(i: u32) -> QM31 {
    QM31::from_coordinates([4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3].map(word))
}

fn theirs(x: QM31) -> SecureField {
    SecureField::from_m31_array(x.coordinates().map(|x| BaseField::from_u32_unchecked(x.word())))
}

fn ours(x: SecureField) -> QM31 {
    let words: [BaseField; SECURE_EXTENSION_DEGREE] = x.to_m31_array();
    QM31::from_coordinates(words.map(|x| M31::from_u32(x.0)))
}

fn planes(values: &[QM31]) -> Vec<M31> {
    (0..4).flat_map(|k| values.iter().map(move |value| value.coordinates()[k])).collect()
}

fn elements(planes: &[M31]) -> Vec<QM31> {
    let len = planes.len() / 4;
    (0..len).map(|i| QM31::from_coordinates([0, 1, 2, 3].map(|k| planes[k * len + i]))).collect()
}

fn inverse_twiddles(q: &CpuQueue, log_size: u32) -> Vec<Twiddle> {
    let mut pair = [(); 2].map(|()| vec![Twiddle::default(); 1 << (log_size - 1)]);
    let [twiddles, inverse_twiddles] = &mut pair;
    q.circle_twiddles(CircleTwiddles { params: &CircleTwiddleParams { log_size }, twiddles, inverse_twiddles })
        .expect("a valid size");
    let [_, inverse] = pair;
    inverse
}

/// Quotients of ten columns, as the verifier computes them.
///
/// Seven columns are sampled at one point, three at another.
#[test]
fn quotients_are_theirs() {
    const COLUMNS: u32 = 10;
    let q = runtime::cpu().unwrap();
    for log_size in [2, 5, 9] {
        let log_domain = log_size + 1;
        let values: Vec<M31> = (0..COLUMNS << log_size).map(word).collect();
        let columns: Vec<ColumnAt> = (0..COLUMNS).map(|i| ColumnAt::new(u64::from(i) << log_size, log_size)).collect();
        let sampled: Vec<QM31> = (50..50 + COLUMNS).map(secure).collect();
        let powers: Vec<QM31> = (70..70 + COLUMNS).map(secure).collect();
        let terms: Vec<DeepTerm> = (0..COLUMNS)
            .map(|i| DeepTerm { column: i * 3 % COLUMNS, value: i, power: COLUMNS - 1 - i, reserved: 0 })
            .collect();
        let batches = [
            DeepBatch { first: 0, count: 7, point: 0, log_size },
            DeepBatch { first: 7, count: 3, point: 1, log_size },
        ];
        let (t, step) = (secure(5), CirclePointIndex::subgroup_gen(log_size));
        let points_at = [PointAt { index: 0, doublings: 0 }, PointAt { index: step.0 as u32, doublings: 2 }];
        let mut points = vec![QM31::ZERO; 4];
        q.deep_points(DeepPoints { points_at: &points_at, parameter: &[t], points: &mut points }).unwrap();

        let (mut factors, mut lines) = (vec![QM31::ZERO; COLUMNS as usize], vec![QM31::ZERO; 4]);
        q.deep_lines(DeepLines {
            terms: &terms,
            batches: &batches,
            points: &points,
            sampled: &sampled,
            powers: &powers,
            factors: &mut factors,
            lines: &mut lines,
        })
        .unwrap();
        let mut numerators = vec![M31::ZERO; 8 << log_size];
        q.deep_numerators(DeepNumerators {
            params: &DeepNumeratorsParams { log_size },
            columns: &columns,
            terms: &terms,
            batches: &batches,
            values: &values,
            factors: &factors,
            numerators: &mut numerators,
        })
        .unwrap();
        let mut quotients = vec![M31::ZERO; 4 << log_size];
        q.deep_quotients(DeepQuotients {
            params: &DeepQuotientsParams { log_size, log_domain },
            batches: &batches,
            points: &points,
            lines: &lines,
            numerators: &numerators,
            quotients: &mut quotients,
        })
        .unwrap();

        let (t, one) = (theirs(t), theirs(QM31::ONE));
        let origin = CirclePoint { x: (one - t * t) / (one + t * t), y: (t + t) / (one + t * t) };
        let second = origin + step.to_point().into_ef();
        let batch = |point, range: core::ops::Range<usize>| {
            let terms = terms[range].iter().map(|term| NumeratorData {
                column_index: term.column as usize,
                sample_value: theirs(sampled[term.value as usize]),
                random_coeff: theirs(powers[term.power as usize]),
            });
            ColumnSampleBatch { point, cols_vals_randpows: terms.collect() }
        };
        let batches = [batch(origin, 0..7), batch(second.repeated_double(2), 7..10)];
        let constants = quotient_constants(&batches);
        let domain = CanonicCoset::new(log_domain).circle_domain();
        for (position, quotient) in elements(&quotients).into_iter().enumerate() {
            let row: Vec<BaseField> = (0..COLUMNS as usize)
                .map(|column| BaseField::from_u32_unchecked(values[(column << log_size) + position].word()))
                .collect();
            let point = domain.at(bit_reverse_index(position, log_domain));
            let expected = ours(accumulate_row_quotients(&batches, &row, &constants, point));
            assert_eq!(quotient, expected, "position {position} of 2^{log_size}");
        }
    }
}

#[test]
fn folds_are_theirs() {
    let q = runtime::cpu().unwrap();
    for (log_size, on_circle) in (1..=10).flat_map(|log_size| [(log_size, 0), (log_size, 1)]) {
        let values: Vec<QM31> = (0..1 << log_size).map(secure).collect();
        let alpha = secure(9);
        let folds = 3.min(log_size);
        let mut expected: Vec<SecureField> = values.iter().copied().map(theirs).collect();
        let mut line = LineDomain::new(Coset::half_odds(log_size));
        let mut power = theirs(alpha);
        for fold in 0..folds {
            expected = if fold == 0 && on_circle == 1 {
                line = LineDomain::new(Coset::half_odds(log_size - 1));
                fold_circle_into_line(&expected, CanonicCoset::new(log_size).circle_domain(), power)
            } else {
                let folded;
                (line, folded) = fold_line(&expected, line, power);
                folded
            };
            power = power * power;
        }
        let params = FriFoldParams { log_size, folds, on_circle };
        let mut folded = vec![M31::ZERO; 4 << (log_size - folds)];
        q.fri_fold(FriFold {
            params: &params,
            inverse_twiddles: &inverse_twiddles(&q, params.log_domain()),
            challenge: &[alpha],
            values: &planes(&values),
            folded: &mut folded,
        })
        .unwrap();
        let expected: Vec<QM31> = expected.into_iter().map(ours).collect();
        assert_eq!(elements(&folded), expected, "{folds} folds of 2^{log_size}");
    }
}

#[test]
fn the_last_layer_is_their_polynomial() {
    let q = runtime::cpu().unwrap();
    for (log_size, log_bound) in [(0, 0), (1, 0), (1, 1), (4, 2), (7, 7), (9, 5)] {
        let coefficients: Vec<SecureField> = (0..1 << log_bound).map(|i| theirs(secure(i))).collect();
        let polynomial = LinePoly::new(coefficients.clone());
        let domain = LineDomain::new(Coset::half_odds(log_size));
        let values: Vec<QM31> = (0..1usize << log_size)
            .map(|position| ours(polynomial.eval_at_point(domain.at(bit_reverse_index(position, log_size)).into())))
            .collect();
        let (mut found, mut excess) = (vec![QM31::ZERO; 1 << log_bound], [9]);
        q.fri_last_layer(FriLastLayer {
            params: &FriLastLayerParams { log_size, log_bound },
            inverse_twiddles: &inverse_twiddles(&q, log_size + 1),
            values: &planes(&values),
            coefficients: &mut found,
            excess: &mut excess,
        })
        .unwrap();
        assert_eq!(found, coefficients.into_iter().map(ours).collect::<Vec<_>>(), "2^{log_bound} of 2^{log_size}");
        assert_eq!(excess, [0]);
    }
}
