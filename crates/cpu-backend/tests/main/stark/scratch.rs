//! Memory that ops of proofs take in addition to their operands, by the budget's peak.

use backend_api::ops::{
    air::{AirOps, LogUpColumns},
    circle::{CircleEvalAtPoint, CircleOps, CircleRestrict, CircleTwiddles},
    deep::{DeepOps, DeepQuotients},
    fri::{FriFold, FriLastLayer, FriOps},
    merkle::{MerkleLeaves, MerkleOps},
};
use core_types::{
    blake2s::Digest,
    circle::CirclePoint,
    field::{M31, QM31, Twiddle},
    params::{
        air::LogUpColumnsParams,
        circle::{CirclePointParams, CircleRestrictParams, CircleTwiddleParams},
        columns::ColumnAt,
        deep::{DeepBatch, DeepQuotientsParams},
        fri::{FriFoldParams, FriLastLayerParams},
        merkle::MerkleLeavesParams,
    },
};
use cpu_backend::CpuQueue;

use super::{elements, secure, tree};
use crate::levels::{peak, strongest};

/// Tiles of leaves, lookups and quotients have 1024 rows; two run at once.
#[test]
fn tiles_take_scratch_for_each_task_at_once() {
    for (log, tiles) in [(3, 1), (10, 1), (11, 2), (12, 2)] {
        let (params, columns) = (MerkleLeavesParams { log_leaves: log }, [ColumnAt::new(0, 1)]);
        let (values, mut leaves) = ([M31::ZERO; 2], vec![Digest::default(); 1 << log]);
        let op = MerkleLeaves::<CpuQueue> { params: &params, columns: &columns, values: &values, leaves: &mut leaves };
        assert_eq!(peak(|q| q.merkle_leaves(op)), tiles * 8 * 1024 * 4, "2^{log} leaves");

        let params = LogUpColumnsParams { log_rows: log, columns: 1 };
        let (fractions, mut columns) = (vec![M31::ONE; 8 << log], vec![M31::ZERO; 4 << log]);
        let mut sums = [QM31::ZERO; 2];
        let op =
            LogUpColumns::<CpuQueue> { params: &params, fractions: &fractions, columns: &mut columns, sums: &mut sums };
        assert_eq!(peak(|q| q.logup_columns(op)), tiles * 4 * 1024 * 4, "2^{log} rows");

        // Six planes of a tile and two of elements, and the steps within a tile.
        let params = DeepQuotientsParams { log_size: log, log_domain: log + 2 };
        let batches = [DeepBatch { first: 0, count: 1, point: 0, log_size: log }];
        let (points, lines, numerators) = (secure(2, 1), secure(2, 2), elements(4 << log, 3));
        let (points, lines, numerators) = (&points[..], &lines[..], &numerators[..]);
        let mut quotients = vec![M31::ZERO; 4 << log];
        let quotients = &mut quotients[..];
        let op = DeepQuotients::<CpuQueue> { params: &params, batches: &batches, points, lines, numerators, quotients };
        assert_eq!(peak(|q| q.deep_quotients(op)), (tiles * (6 + 2 * 4) + 4) * 1024 * 4, "2^{log} positions");
    }
}

/// Values between folds have a half and a quarter of a tile, four planes each.
#[test]
fn layers_take_scratch_for_values_between_folds() {
    for (log_size, folds, bytes) in
        [(14, 1, 0), (14, 3, 2 * (6 << 11) * 4), (5, 3, (6 << 4) * 4), (14, 13, 2 * (6 << 12) * 4)]
    {
        let params = FriFoldParams { log_size, folds, on_circle: 0 };
        let (_, inverse_twiddles) = tree(&strongest(1), params.log_domain());
        let (values, mut folded) = (elements(4 << log_size, 1), vec![M31::ZERO; 4 << (log_size - folds)]);
        let op = FriFold::<CpuQueue> {
            params: &params,
            inverse_twiddles: &inverse_twiddles,
            challenge: &[QM31::ONE],
            values: &values,
            folded: &mut folded,
        };
        assert_eq!(peak(|q| q.fri_fold(op)), bytes, "{folds} folds of 2^{log_size}");
    }
    let (_, inverse_twiddles) = tree(&strongest(1), 5);
    let (values, mut coefficients, mut excess) = (elements(4 << 4, 1), vec![QM31::ZERO; 4], [0]);
    let op = FriLastLayer::<CpuQueue> {
        params: &FriLastLayerParams { log_size: 4, log_bound: 2 },
        inverse_twiddles: &inverse_twiddles,
        values: &values,
        coefficients: &mut coefficients,
        excess: &mut excess,
    };
    assert_eq!(peak(|q| q.fri_last_layer(op)), 16 << 4);
}

#[test]
fn points_weights_and_bases_are_scratch() {
    // Points: 2^10 sums of low bits, the sums of the bits above, and one for each layer.
    for (log_size, points) in [(5, 1024 + 1 + 5), (12, 1024 + 1 + 12), (13, 1024 + 2 + 13), (14, 1024 + 4 + 14)] {
        let [mut twiddles, mut inverse_twiddles] = [(); 2].map(|()| vec![Twiddle::default(); 1 << (log_size - 1)]);
        let op = CircleTwiddles::<CpuQueue> {
            params: &CircleTwiddleParams { log_size },
            twiddles: &mut twiddles,
            inverse_twiddles: &mut inverse_twiddles,
        };
        assert_eq!(peak(|q| q.circle_twiddles(op)), points * 8, "2^{log_size}");
    }
    // A weight for each of the eight parts of a column.
    let (twiddles, _) = tree(&strongest(1), 6);
    let params = CircleRestrictParams { log_coefficients: 5, log_domain: 6, log_block: 2, block: 1, columns: 1 };
    let (coefficients, mut values) = (elements(1 << 5, 1), vec![M31::ZERO; 1 << 2]);
    let op = CircleRestrict::<CpuQueue> {
        params: &params,
        twiddles: &twiddles,
        coefficients: &coefficients,
        values: &mut values,
    };
    assert_eq!(peak(|q| q.circle_restrict(op)), 8 * 4);
    // The basis at a point: thirty factors, and products for lanes, rows and blocks; and a sum for each column.
    let point = CirclePoint::from_parameter(secure(1, 31)[0]).expect("no root of minus one");
    let params = CirclePointParams { log_size: 3, columns: 3, point };
    let (coefficients, mut results) = (elements(3 << 3, 1), [QM31::ONE; 3]);
    let op = CircleEvalAtPoint::<CpuQueue> { params: &params, coefficients: &coefficients, results: &mut results };
    assert_eq!(peak(|q| q.circle_eval_at_point(op)), (30 + 4 + 256 + 64 + 3) * 16);
}
