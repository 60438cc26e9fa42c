//! Transforms against the crate `p3-circle`, whose domains are ours under another generator.

use core_types::{circle::CirclePointIndex, field::M31};
use p3_circle::{CircleDomain, CircleEvaluations};
use p3_field::{PrimeField32 as _, integers::QuotientMap as _};
use p3_matrix::dense::RowMajorMatrix;
use p3_mersenne_31::Mersenne31;
use stark_fft::{
    BitReversed, CanonicDomain, CfftPlan, Coefficients, Columns, HostColumns, LdePlan, Order as _, RowOrder,
    TwiddleTree,
};

/// Their generator is this multiple of ours. It is 1 modulo 8.
const THEIR_GENERATOR: u32 = 1_052_741_409;

const COLUMNS: usize = 3;

fn domain(log_size: u32) -> CanonicDomain {
    CanonicDomain::new(log_size).expect("a log size in range")
}

fn elements(len: usize) -> Vec<M31> {
    (0..len).map(|i| M31::from_u32((i as u32 + 1).wrapping_mul(0x9e37_79b9).rotate_left(9))).collect()
}

/// Columns one after the other to their matrix, all columns of a row together.
fn to_matrix(columns: &[M31], log_size: u32) -> RowMajorMatrix<Mersenne31> {
    let element = |i: usize| columns[((i % COLUMNS) << log_size) + i / COLUMNS].word();
    RowMajorMatrix::new((0..columns.len()).map(|i| Mersenne31::from_int(element(i))).collect(), COLUMNS)
}

fn words(matrix: &RowMajorMatrix<Mersenne31>) -> Vec<u32> {
    matrix.values.iter().map(|x| x.as_canonical_u32()).collect()
}

/// The stored position of the point that their order keeps at `p`: the point there, times their generator over ours.
fn our_position(p: usize, log_size: u32) -> usize {
    let unit = 1u32 << (30 - log_size);
    let natural = stark_fft::bit_reversed(p, log_size);
    let index = domain(log_size).natural_index(natural) * THEIR_GENERATOR;
    let row = (index - CirclePointIndex::new(unit)).get() / (2 * unit); // rows are unit (1 + 2 r)
    BitReversed::from_natural(RowOrder::to_natural(row as usize, log_size), log_size)
}

/// Our values in their order.
fn permuted(values: &[M31], log_size: u32) -> Vec<M31> {
    let column = |column: &[M31]| (0..column.len()).map(|p| column[our_position(p, log_size)]).collect::<Vec<_>>();
    values.chunks(1 << log_size).flat_map(column).collect()
}

#[test]
fn the_index_map_is_the_identity_on_eight_points_and_moves_all_of_thirty_two() {
    assert!((0..8).all(|p| our_position(p, 3) == p));
    let mut seen = vec![false; 32];
    for p in 0..32 {
        assert_ne!(our_position(p, 5), p);
        seen[our_position(p, 5)] = true;
    }
    assert_eq!(seen, vec![true; 32]);
}

#[test]
fn extensions_agree_through_the_index_map() {
    let q = runtime::cpu().unwrap();
    for (log_coefficients, log_size) in [(3, 3), (3, 5), (5, 6), (8, 10), (12, 12), (13, 15), (17, 18)] {
        let coefficients = elements(COLUMNS << log_coefficients);
        let tree = TwiddleTree::new(&q, domain(log_size)).unwrap();
        let host = HostColumns::<Coefficients>::new(domain(log_coefficients), coefficients.clone()).unwrap();
        let plan = LdePlan::new(domain(log_coefficients), domain(log_size), COLUMNS).unwrap();
        let values = plan.extend(&q, &tree, &Columns::upload(&q, &host).unwrap()).unwrap().download(&q).unwrap();

        let theirs = CircleEvaluations::evaluate(
            CircleDomain::standard(log_size as usize),
            to_matrix(&coefficients, log_coefficients),
        );
        let ours = to_matrix(&permuted(values.as_slice(), log_size), log_size);
        assert_eq!(words(&theirs.to_cfft_order()), words(&ours), "2^{log_coefficients} to 2^{log_size}");
    }
}

#[test]
fn their_interpolation_of_our_values_finds_our_coefficients() {
    let q = runtime::cpu().unwrap();
    for log_size in [3, 4, 7, 10, 13, 16] {
        let tree = TwiddleTree::new(&q, domain(log_size)).unwrap();
        let values = HostColumns::<BitReversed>::new(domain(log_size), elements(COLUMNS << log_size)).unwrap();
        let plan = CfftPlan::new(domain(log_size), COLUMNS).unwrap();
        let ours = plan.interpolate(&q, &tree, Columns::upload(&q, &values).unwrap()).unwrap().download(&q).unwrap();

        // Their constructor takes natural order; reading the view of a matrix in their stored order gives that.
        let stored = to_matrix(&permuted(values.as_slice(), log_size), log_size);
        let log = log_size as usize;
        let natural = CircleEvaluations::from_natural_order(CircleDomain::standard(log), stored).to_cfft_order();
        let natural = p3_matrix::Matrix::to_row_major_matrix(natural);
        let theirs = CircleEvaluations::from_natural_order(CircleDomain::standard(log), natural).interpolate();
        assert_eq!(words(&theirs), words(&to_matrix(ours.as_slice(), log_size)), "2^{log_size}");
    }
}
