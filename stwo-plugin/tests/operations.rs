//! Operations that proofs do not reach, or not completely, compared with stwo's CPU backend.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use stwo::{
    core::{
        circle::SECURE_FIELD_CIRCLE_GEN,
        fields::{
            m31::{BaseField, P},
            qm31::SecureField,
        },
        poly::circle::{CanonicCoset, CircleDomain},
        utils::bit_reverse_index,
        vcs::blake2_hash::Blake2sHash,
        vcs_lifted::blake2_merkle::Blake2sMerkleHasher,
    },
    prover::{
        AccumulationOps,
        backend::{
            Backend, Col, Column, ColumnOps, CpuBackend,
            simd::{SimdBackend, column::BaseColumn},
        },
        fri::FriOps,
        lookups::mle::Mle,
        poly::{
            BitReversedOrder,
            circle::{CircleCoefficients, CircleEvaluation, PolyOps, SecureEvaluation},
        },
        secure_column::SecureColumnByCoords,
        vcs_lifted::ops::{MerkleOpsLifted, PackLeavesOps},
    },
};
use trefoil_stwo::{DeviceColumn, TrefoilBackend, install, open};

type ColumnEvaluation<B> = CircleEvaluation<B, BaseField, BitReversedOrder>;

fn word(i: usize) -> BaseField {
    BaseField::from((i as u32).wrapping_mul(0x9e37_79b9) >> 1)
}

fn words(len: usize, from: usize) -> Vec<BaseField> {
    (from..from + len).map(word).collect()
}

fn canonic(log_size: u32) -> CircleDomain {
    CanonicCoset::new(log_size).circle_domain()
}

fn secure<B: Backend>(len: usize, from: usize) -> SecureColumnByCoords<B> {
    SecureColumnByCoords { columns: core::array::from_fn(|k| words(len, from + k * len).into_iter().collect()) }
}

fn coordinates<B: Backend>(column: &SecureColumnByCoords<B>) -> [Vec<BaseField>; 4] {
    column.columns.each_ref().map(Column::to_cpu)
}

#[test]
fn columns_are_read_set_and_split() {
    let mut column: DeviceColumn<BaseField> = words(8, 3).into_iter().collect();
    assert_eq!((column.len(), column.at(5)), (8, word(8)));
    column.set(5, BaseField::from(7));
    let mut expected = words(8, 3);
    expected[5] = BaseField::from(7);
    assert_eq!(column.to_cpu(), expected);
    <TrefoilBackend as ColumnOps<BaseField>>::bit_reverse_column(&mut column);
    assert!((0..8).all(|i| column.at(i) == expected[bit_reverse_index(i, 3)]));
    let (left, right) = column.clone().split_at_mid();
    assert_eq!([left.to_cpu(), right.to_cpu()].concat(), column.to_cpu());
    let mut zeros = <DeviceColumn<SecureField> as Column<_>>::zeros(4);
    assert_eq!(zeros.to_cpu(), [SecureField::default(); 4]);
    zeros.set(1, SecureField::from(5));
    assert_eq!(zeros.at(1), SecureField::from(5));
}

/// A column on the device is changed on the host, and used on the device again.
#[test]
fn a_column_of_the_device_is_set() {
    let (domain, twiddles) = (canonic(5), TrefoilBackend::precompute_twiddles(canonic(6).half_coset));
    let on_cpu = CircleCoefficients::<CpuBackend>::new(words(16, 0));
    let poly = CircleCoefficients::<TrefoilBackend>::new(words(16, 0).into());
    let mut evaluation = poly.evaluate_with_twiddles(domain, &twiddles);
    assert_eq!(evaluation.values.to_cpu(), on_cpu.evaluate(domain).values);
    evaluation.values.set(3, BaseField::from(1));
    let mut expected = on_cpu.evaluate(domain);
    expected.values[3] = BaseField::from(1);
    assert_eq!(evaluation.interpolate_with_twiddles(&twiddles).coeffs.to_cpu(), expected.interpolate().coeffs);
}

#[test]
fn transforms_and_values_at_points() {
    let twiddles = TrefoilBackend::precompute_twiddles(canonic(8).half_coset);
    for log_size in 1..=7 {
        let values = words(1 << log_size, 40);
        let expected = ColumnEvaluation::<CpuBackend>::new(canonic(log_size), values.clone()).interpolate();
        let evaluation = ColumnEvaluation::<TrefoilBackend>::new(canonic(log_size), values.into());
        let poly = evaluation.clone().interpolate_with_twiddles(&twiddles);
        assert_eq!(poly.coeffs.to_cpu(), expected.coeffs);
        let point = SECURE_FIELD_CIRCLE_GEN.mul(1234 + u128::from(log_size));
        let value = expected.eval_at_point(point);
        assert_eq!(poly.eval_at_point(point), value);
        assert_eq!(poly.extend(log_size + 2).eval_at_point(point), value);
        assert_eq!(evaluation.eval_at_point_by_folding(point, &twiddles), value);
        let weights = ColumnEvaluation::<TrefoilBackend>::barycentric_weights(CanonicCoset::new(log_size), point);
        assert_eq!(evaluation.barycentric_eval_at_point(&weights), value);
        let (left, right) = poly.split_at_mid();
        assert_eq!([left.coeffs.to_cpu(), right.coeffs.to_cpu()].concat(), expected.coeffs);
    }
}

/// Packed columns may hold P where they mean zero.
#[test]
fn p_is_zero() {
    let (log_size, p) = (6, BaseField::from_u32_unchecked(P));
    let packed: BaseColumn = (0..1_usize << log_size).map(|i| if i.is_multiple_of(3) { p } else { word(i) }).collect();
    let zeroed =
        (0..1_usize << log_size).map(|i| if i.is_multiple_of(3) { BaseField::from(0) } else { word(i) }).collect();
    let columns = TrefoilBackend::columns(vec![ColumnEvaluation::<SimdBackend>::new(canonic(log_size), packed)]);
    let twiddles = TrefoilBackend::precompute_twiddles(canonic(log_size).half_coset);
    let polys = TrefoilBackend::interpolate_columns(columns, &twiddles);
    let expected = ColumnEvaluation::<CpuBackend>::new(canonic(log_size), zeroed).interpolate();
    assert_eq!(polys[0].coeffs.to_cpu(), expected.coeffs);
}

#[test]
fn sums_of_columns_of_any_heights() {
    for lens in [&[8][..], &[4, 16], &[4, 8, 32]] {
        let columns = |from: &mut usize, len: usize| {
            *from += 4 * len;
            *from - 4 * len
        };
        let starts: Vec<_> = lens.iter().scan(5, |from, &len| Some((len, columns(from, len)))).collect();
        let on_cpu = starts.iter().map(|&(len, from)| secure::<CpuBackend>(len, from)).collect();
        let on_device = starts.iter().map(|&(len, from)| secure::<TrefoilBackend>(len, from)).collect();
        let expected = CpuBackend::lift_and_accumulate(on_cpu).unwrap();
        let sum = TrefoilBackend::lift_and_accumulate(on_device).unwrap();
        assert_eq!(coordinates(&sum), coordinates(&expected));
    }
    assert!(TrefoilBackend::lift_and_accumulate(vec![]).is_none());
    let mut expected = secure::<CpuBackend>(16, 0);
    CpuBackend::accumulate(&mut expected, &secure(16, 100));
    let mut sum = secure::<TrefoilBackend>(16, 0);
    TrefoilBackend::accumulate(&mut sum, &secure(16, 100));
    assert_eq!(coordinates(&sum), coordinates(&expected));
    let alpha = SecureField::from_m31_array([1, 2, 3, 4].map(BaseField::from));
    for count in [0, 1, 20] {
        let powers = TrefoilBackend::generate_secure_powers(alpha, count);
        assert_eq!(powers, CpuBackend::generate_secure_powers(alpha, count));
    }
}

fn leaves<B: MerkleOpsLifted<Blake2sMerkleHasher> + Backend>(lens: &[usize], log_leaves: u32) -> Vec<Vec<Blake2sHash>> {
    let columns: Vec<Col<B, BaseField>> = lens.iter().map(|&len| words(len, 9 * len).into_iter().collect()).collect();
    let columns: Vec<_> = columns.iter().collect();
    let mut levels = vec![<B as MerkleOpsLifted<Blake2sMerkleHasher>>::build_leaves(&columns, log_leaves)];
    for _ in 0..log_leaves {
        levels.push(<B as MerkleOpsLifted<Blake2sMerkleHasher>>::build_next_layer(&levels[levels.len() - 1]));
    }
    levels.iter().map(Column::to_cpu).collect()
}

#[test]
fn trees_of_columns_from_the_host() {
    for (lens, log_leaves) in [(&[16, 16, 16][..], 4), (&[2, 8, 8, 32], 5), (&[4], 6), (&[8; 20], 3)] {
        assert_eq!(leaves::<TrefoilBackend>(lens, log_leaves), leaves::<CpuBackend>(lens, log_leaves));
    }
    let hashes: Vec<Blake2sHash> = (0..16).map(|k| Blake2sHash([k; 32])).collect();
    let expected = <CpuBackend as MerkleOpsLifted<Blake2sMerkleHasher>>::build_next_layer(&hashes);
    let level = <TrefoilBackend as MerkleOpsLifted<Blake2sMerkleHasher>>::build_next_layer(&hashes.into());
    assert_eq!(level.to_cpu(), expected);
}

#[test]
fn packed_leaves() {
    let column = secure::<CpuBackend>(16, 30);
    let expected = CpuBackend::pack_leaves_input(&column.columns.each_ref());
    let on_device = secure::<TrefoilBackend>(16, 30);
    let packed = TrefoilBackend::pack_leaves_input(&on_device.columns.each_ref());
    assert_eq!(packed.each_ref().map(Column::to_cpu), expected);
    assert_eq!(packed[6].at(2), expected[6][2]);
    let build = <TrefoilBackend as MerkleOpsLifted<Blake2sMerkleHasher>>::build_leaves(&packed.each_ref(), 2);
    let built = <CpuBackend as MerkleOpsLifted<Blake2sMerkleHasher>>::build_leaves(&expected.each_ref(), 2);
    assert_eq!(build.to_cpu(), built);
}

#[test]
fn decomposition() {
    let evaluation = |column| SecureEvaluation::<CpuBackend, BitReversedOrder>::new(canonic(4), column);
    let (expected, expected_lambda) = CpuBackend::decompose(&evaluation(secure(16, 3)));
    let on_device = SecureEvaluation::<TrefoilBackend, BitReversedOrder>::new(canonic(4), secure(16, 3));
    let (g, lambda) = TrefoilBackend::decompose(&on_device);
    assert_eq!((coordinates(&g.values), lambda), (coordinates(&expected.values), expected_lambda));
}

#[test]
fn a_queue_stays() {
    let queue = open().unwrap();
    assert!(install(queue.clone()).is_err());
    assert!(core::ptr::eq(queue, open().unwrap()));
}

#[test]
#[should_panic(expected = "look-ups by GKR run on no device")]
fn look_ups_by_gkr_are_refused() {
    let mle = Mle::<TrefoilBackend, BaseField>::new(words(4, 0).into());
    mle.fix_first_variable(SecureField::default());
}

#[test]
#[should_panic(expected = "transforms are of canonic domains")]
fn other_domains_are_refused() {
    let twiddles = TrefoilBackend::precompute_twiddles(canonic(5).half_coset);
    let (part, _) = canonic(5).split(1);
    CircleCoefficients::<TrefoilBackend>::new(words(8, 0).into()).evaluate_with_twiddles(part, &twiddles);
}
