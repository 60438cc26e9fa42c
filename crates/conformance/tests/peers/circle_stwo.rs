//! Fields, domains, orders, transforms and out-of-domain values against the published crate `stwo` 2.3.

use backend_api::{
    Buffer as _, Queue as _,
    ops::circle::{CircleEvalAtPoints, CircleInterpolatePart, CircleOps as _},
};
use core_types::{
    circle::CirclePoint,
    field::{M31, QM31},
    params::{circle::CirclePartParams, columns::ColumnAt, deep::SampleAt},
};
use cpu_backend::CpuQueue;
use stark_fft::{
    BitReversed, CanonicDomain, CfftPlan, Coefficients, Columns, HostColumns, LdeBlockPlan, LdePlan, Natural, RowOrder,
    TwiddleTree,
};
use stwo::core::{
    circle::CirclePoint as StwoPoint,
    fft,
    fields::{FieldExpOps, m31::BaseField, qm31::SecureField},
    poly::{circle::CanonicCoset, utils},
    utils::{bit_reverse, coset_order_to_circle_domain_order},
};

fn elements(len: usize, seed: u32) -> Vec<M31> {
    let word = |i: usize| (i as u32 ^ seed).wrapping_mul(0x9e37_79b9).rotate_left(11).wrapping_mul(0x85eb_ca6b);
    (0..len).map(|i| if i % 9 == 4 { -M31::ONE } else { M31::from_u32(word(i)) }).collect()
}

fn theirs(x: M31) -> BaseField {
    BaseField::from_u32_unchecked(x.word())
}

fn secure(x: QM31) -> SecureField {
    let [a, b, c, d] = x.coordinates().map(M31::word);
    SecureField::from_u32_unchecked(a, b, c, d)
}

fn all_theirs(elements: &[M31]) -> Vec<BaseField> {
    elements.iter().copied().map(theirs).collect()
}

fn domain(log_size: u32) -> CanonicDomain {
    CanonicDomain::new(log_size).expect("a log size in range")
}

/// Their domain points in stored order.
fn stored_points(log_size: u32) -> Vec<StwoPoint<BaseField>> {
    let mut points: Vec<_> = CanonicCoset::new(log_size).circle_domain().iter().collect();
    bit_reverse(&mut points);
    points
}

/// Interpolation by their butterfly, with factors read off the first points of their domain: y at layer 0, x and its doublings
/// above.
fn interpolated_by_their_butterflies(values: &[M31], log_domain: u32) -> Vec<BaseField> {
    let points = stored_points(log_domain);
    let mut column = all_theirs(values);
    let log_size = values.len().ilog2();
    for layer in 0..log_size {
        let distance = 1 << layer;
        for start in (0..column.len()).step_by(2 * distance) {
            let factor = match layer {
                0 => points[start].y,
                _ => points[start].repeated_double(layer - 1).x,
            };
            let inverse = factor.inverse();
            for i in start..start + distance {
                let (low, high) = column.split_at_mut(i + distance);
                fft::ibutterfly(&mut low[i], &mut high[0], inverse);
            }
        }
    }
    let scale = BaseField::from_u32_unchecked(1 << log_size).inverse();
    column.into_iter().map(|x| x * scale).collect()
}

fn interpolate(q: &CpuQueue, log_size: u32, values: Vec<M31>) -> Columns<CpuQueue, Coefficients> {
    let tree = TwiddleTree::new(q, domain(log_size)).expect("memory");
    let values = HostColumns::<BitReversed>::new(domain(log_size), values).expect("whole columns");
    let plan = CfftPlan::new(domain(log_size), values.count()).expect("a small batch");
    plan.interpolate(q, &tree, Columns::upload(q, &values).expect("memory")).expect("matching shapes")
}

#[test]
fn secure_field_arithmetic_agrees() {
    let words = elements(4 * 2000, 1);
    let secure_elements: Vec<QM31> =
        words.chunks_exact(4).map(|w| QM31::from_coordinates([w[0], w[1], w[2], w[3]])).collect();
    for pair in secure_elements.windows(2) {
        assert_eq!(secure(pair[0] * pair[1]), secure(pair[0]) * secure(pair[1]));
        assert_eq!(secure(pair[0] - pair[1]), secure(pair[0]) - secure(pair[1]));
        assert_eq!(pair[0].inverse().map(secure), Some(secure(pair[0]).inverse()));
    }
}

#[test]
fn domains_have_their_points_in_their_order() {
    for log_size in 1..=12 {
        for (p, point) in stored_points(log_size).into_iter().enumerate() {
            let ours = domain(log_size).stored_point(p);
            assert_eq!((theirs(ours.x), theirs(ours.y)), (point.x, point.y));
        }
    }
}

#[test]
fn rows_are_reordered_as_they_do() {
    for log_size in 1..=12 {
        let rows = elements(1 << log_size, 2);
        let mut expected = coset_order_to_circle_domain_order(&all_theirs(&rows));
        let natural = HostColumns::<RowOrder>::new(domain(log_size), rows).unwrap().into_order::<Natural>();
        assert_eq!(all_theirs(natural.as_slice()), expected);
        bit_reverse(&mut expected);
        assert_eq!(all_theirs(natural.into_order::<BitReversed>().as_slice()), expected);
    }
}

#[test]
fn coefficients_are_those_of_their_butterflies() {
    let q = runtime::cpu().unwrap();
    for log_size in 1..=14 {
        let values = elements(1 << log_size, log_size);
        let got = interpolate(&q, log_size, values.clone()).download(&q).unwrap();
        assert_eq!(all_theirs(got.as_slice()), interpolated_by_their_butterflies(&values, log_size));
    }
}

#[test]
fn coefficients_of_parts_are_those_of_their_butterflies() {
    let q = runtime::cpu().unwrap();
    for log_domain in 1..=13 {
        let tree = TwiddleTree::new(&q, domain(log_domain)).unwrap();
        for log_size in 1..=log_domain {
            let values = elements(1 << log_size, log_size);
            let mut got = values.clone();
            q.circle_interpolate_part(CircleInterpolatePart {
                params: &CirclePartParams { log_size, log_domain, columns: 1 },
                inverse_twiddles: tree.inverse(domain(log_domain)).unwrap(),
                columns: &mut got,
            })
            .unwrap();
            assert_eq!(all_theirs(&got), interpolated_by_their_butterflies(&values, log_domain));
        }
    }
}

#[test]
fn extensions_take_the_values_that_their_folding_gives() {
    let q = runtime::cpu().unwrap();
    for (log_coefficients, log_size) in [(1, 1), (1, 4), (2, 3), (5, 7), (8, 9), (12, 14), (16, 17), (20, 21)] {
        let host = elements(1 << log_coefficients, 5);
        let tree = TwiddleTree::new(&q, domain(log_size)).unwrap();
        let plan = LdePlan::new(domain(log_coefficients), domain(log_size), 1).unwrap();
        let columns = HostColumns::<Coefficients>::new(domain(log_coefficients), host.clone()).unwrap();
        let values = plan.extend(&q, &tree, &Columns::upload(&q, &columns).unwrap()).unwrap().download(&q).unwrap();
        let coefficients = all_theirs(&host);
        let their_domain = CanonicCoset::new(log_size).circle_domain();
        let last = (1usize << log_size) - 1;
        for p in (0..=last).step_by((last / 5).max(1)).chain([last]) {
            let point = their_domain.at(stark_fft::bit_reversed(p, log_size));
            let expected = utils::fold(&coefficients, &utils::get_folding_alphas(point, log_coefficients as usize));
            assert_eq!(theirs(values.as_slice()[p]), expected, "position {p}, 2^{log_coefficients} to 2^{log_size}");
        }
    }
}

#[test]
fn blocks_take_the_values_that_their_folding_gives() {
    let q = runtime::cpu().unwrap();
    for (log_coefficients, log_size, log_blocks) in
        [(1, 2, 1), (3, 4, 3), (2, 6, 2), (5, 5, 4), (8, 9, 3), (12, 14, 1), (13, 14, 8), (16, 17, 3), (18, 18, 2)]
    {
        let host = elements(1 << log_coefficients, 9);
        let tree = TwiddleTree::new(&q, domain(log_size)).unwrap();
        let plan = LdeBlockPlan::new(domain(log_coefficients), domain(log_size), 1, log_blocks).unwrap();
        let columns = HostColumns::<Coefficients>::new(domain(log_coefficients), host.clone()).unwrap();
        let columns = Columns::upload(&q, &columns).unwrap();
        let coefficients = all_theirs(&host);
        let their_domain = CanonicCoset::new(log_size).circle_domain();
        let mut values = q.alloc::<M31>(plan.values_len()).unwrap();
        for block in 0..plan.blocks() {
            plan.extend_into(&q, &tree, columns.view(), block, values.view_mut()).unwrap();
            let values = q.download(&values).unwrap();
            let last = plan.values_len() - 1;
            for i in (0..=last).step_by((last / 3).max(1)).chain([last]) {
                let p = plan.positions(block).start + i;
                let point = their_domain.at(stark_fft::bit_reversed(p, log_size));
                let expected = utils::fold(&coefficients, &utils::get_folding_alphas(point, log_coefficients as usize));
                assert_eq!(theirs(values[i]), expected, "position {p}, 2^{log_coefficients} to 2^{log_size}");
            }
        }
    }
}

#[test]
fn out_of_domain_values_agree() {
    let q = runtime::cpu().unwrap();
    let parameter = QM31::from_coordinates([11, 12, 13, 14].map(M31::from_u32));
    let point = CirclePoint::from_parameter(parameter).unwrap();
    let their_point = StwoPoint { x: secure(point.x), y: secure(point.y) };
    for log_size in (1..=10).chain([15, 18]) {
        let polynomials = interpolate(&q, log_size, elements(3 << log_size, 6));
        let host = polynomials.download(&q).unwrap();
        let got = polynomials.eval_at_point(&q, point).unwrap();
        for (c, got) in got.into_iter().enumerate() {
            let coefficients = all_theirs(host.column(c).unwrap());
            let alphas = utils::get_folding_alphas(their_point, log_size as usize);
            assert_eq!(secure(got), utils::fold(&coefficients, &alphas));
        }
    }
}

#[test]
fn values_of_several_sizes_and_points_agree() {
    let q = runtime::cpu().unwrap();
    let coefficients = elements(1 << 19, 8);
    let log_lens: Vec<u32> = (0..=14).chain([18, 5]).collect();
    let columns: Vec<ColumnAt> =
        log_lens.iter().enumerate().map(|(i, &log_len)| ColumnAt::new(1000 * i as u64, log_len)).collect();
    let points = [3, 21].map(|word| {
        let parameter = QM31::from_coordinates([word, 5, 7, 9].map(M31::from_u32));
        CirclePoint::from_parameter(parameter).unwrap()
    });
    let samples: Vec<SampleAt> =
        (0..2 * columns.len() as u32).map(|i| SampleAt { column: i / 2, point: i % 2 }).collect();
    let mut sampled = vec![QM31::ZERO; samples.len()];
    q.circle_eval_at_points(CircleEvalAtPoints {
        columns: &columns,
        samples: &samples,
        coefficients: &coefficients,
        points: &points.map(|point| [point.x, point.y]).concat(),
        sampled: &mut sampled,
    })
    .unwrap();
    for (sample, got) in samples.iter().zip(sampled) {
        let (column, point) = (columns[sample.column as usize], points[sample.point as usize]);
        let words = all_theirs(&coefficients[column.first as usize..][..1 << column.log_len]);
        let their_point = StwoPoint { x: secure(point.x), y: secure(point.y) };
        let alphas = utils::get_folding_alphas(their_point, column.log_len as usize);
        assert_eq!(secure(got), utils::fold(&words, &alphas), "{sample:?}");
    }
}
